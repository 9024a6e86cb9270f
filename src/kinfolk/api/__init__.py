"""The functions behind `import kinfolk as kf`, with typed arguments and typed results."""
