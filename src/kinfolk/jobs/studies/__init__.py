"""Studies: pre-registered plans that are run as a whole and end with a report."""
