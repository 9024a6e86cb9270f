"""The phases of a savanna step, one kernel file per phase."""
