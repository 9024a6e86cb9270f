"""Policies of the probe world, each of which tests another part of the policy contract."""
