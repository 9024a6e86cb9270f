"""The phases of a CogsGuard tick, one kernel file per phase."""
