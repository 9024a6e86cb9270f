"""Scripted, evolved and trained policies, their common contract, and their URIs."""
