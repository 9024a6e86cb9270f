"""The `kinfolk export` group of commands."""
