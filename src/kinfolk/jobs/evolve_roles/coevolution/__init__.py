"""Co-evolution: several populations of roles, whose teams play each other."""
