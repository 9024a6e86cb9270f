"""Scripted CogsGuard policies: memory, perception, pathfinding, behaviors and the roles made of them."""
