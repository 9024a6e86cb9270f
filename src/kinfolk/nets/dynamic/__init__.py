"""Networks whose topology evolves."""
