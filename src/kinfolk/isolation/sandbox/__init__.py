"""Operating-system limits of a worker: seccomp filter, Landlock rules, resource limits."""
