"""Scripted roles of CogsGuard: memory, perception, navigation, behaviors, and the policies."""
