"""Scripted savanna policies, which read only the observation of an agent."""
