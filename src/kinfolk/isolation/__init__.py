"""Policies in worker processes of their own, behind the policy contract."""
