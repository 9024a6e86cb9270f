"""The job that evolves roles: settings, state, games, reports."""
