"""Judging policies: matches, isolation, statistics."""
