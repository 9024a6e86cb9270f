"""The contracts as test classes, for kinfolk and for people who add to it."""
