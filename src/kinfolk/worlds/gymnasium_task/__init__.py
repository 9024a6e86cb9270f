"""Gymnasium tasks as worlds of one agent."""
