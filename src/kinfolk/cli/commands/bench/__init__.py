"""The `kinfolk bench` command and how its measurements are shown."""
