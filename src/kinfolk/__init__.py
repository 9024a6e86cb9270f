"""kinfolk."""
