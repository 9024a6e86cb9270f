"""The job that evolves networks: settings, state, search, reports."""
