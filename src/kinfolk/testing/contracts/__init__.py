"""Contract tests as classes to subclass, for kinfolk and for packages that extend it."""
