"""The probe: a tiny world and policies on which the properties of the whole system are tested.

It has all that makes populations hard: two groups with different observations, two action heads,
births with two parents, deaths, rows that are reused, and randomness.
"""
