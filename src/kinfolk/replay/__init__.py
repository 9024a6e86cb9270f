"""Replays: recorded while an episode is played, stored as records, read by the viewer."""
