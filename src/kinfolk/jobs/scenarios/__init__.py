"""Evaluate policies in scenarios: among other policies, on worlds they were not made for."""
