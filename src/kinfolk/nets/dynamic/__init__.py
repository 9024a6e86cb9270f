"""Networks whose topology evolves by growing and pruning nodes."""
