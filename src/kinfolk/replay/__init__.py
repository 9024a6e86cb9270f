"""Replays: recorded while an episode is played, stored in pieces, read by the viewer."""
