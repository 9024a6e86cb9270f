"""What an agent of the savanna does, reading only what its world shows it."""
