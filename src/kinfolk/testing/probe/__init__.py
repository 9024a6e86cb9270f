"""The probe: a tiny world and four policies on which every law is proved first.

It has all that makes populations hard: two groups with windows of their own, two action heads,
births with two parents, deaths, rows that are reused, and chance.
"""
