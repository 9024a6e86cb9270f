"""Roles: ordered tiers of behaviours that are played, scored, bred and remembered. Knows no world."""
