"""Reinforcement learning: rollouts are recorded per slot, and losses update each slot's net."""
