"""Contract tests as classes, for kinfolk and for packages that extend it."""
