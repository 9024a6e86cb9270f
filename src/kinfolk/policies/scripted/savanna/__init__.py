"""Scripted savanna policies: they read only what the world shows an agent."""
