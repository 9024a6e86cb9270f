"""Contract tests, the probe world and test helpers, for kinfolk and for those who extend it."""

import sys

if "pytest" in sys.modules:  # so that a failed assertion of a contract shows its values
    sys.modules["pytest"].register_assert_rewrite("kinfolk.testing.contracts")
