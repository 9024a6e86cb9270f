"""Roles: ordered tiers of behaviors, their evolution, and their execution. World-independent."""
