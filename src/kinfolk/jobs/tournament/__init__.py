"""Tournaments: policies of many authors meet each other and are rated."""
