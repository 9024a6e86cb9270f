"""Contract tests, the probe world and test helpers, for kinfolk and for those who extend it."""
