"""Scenarios: a world, who is focal, and with which background policies the focal agents live."""
