"""Scripted policies, a folder per world."""
