"""Policies that are nets: they read bytes, score choices, draw from keys, and can be trained."""
