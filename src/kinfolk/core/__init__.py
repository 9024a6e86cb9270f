"""What every layer stands on: errors, settings, chance, events, spaces, compiled kernels."""
