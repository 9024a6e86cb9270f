import pytest

from kinfolk.policies.resolve import POLICIES
from kinfolk.testing.contracts.policy import PolicyContract

TESTED_HERE = {
    "random",
    "noop",
    "probe-python",
    "probe-explaining",
    "probe-large-memory",
    "probe-gru",
    "probe-population",
}
# Held to the contract in other files, on worlds of their own.
TESTED_ELSEWHERE = {
    "scripted/savanna/": {"hunter", "grazer"},
    "scripted/cogsguard/": {"roles", "smart", "role/NAME", "behavior/NAME"},
    "neural/test_evolved.py": {"cartpole"},
    "neural/": {"mlp", "conv", "gru", "net"},
}


class TestPoliciesOnTheProbeWorld(PolicyContract):
    @pytest.fixture(params=sorted(TESTED_HERE))
    def uri(self, request):
        return f"kin://{request.param}"


def test_every_registered_policy_is_held_to_the_contract():
    assert TESTED_HERE.union(*TESTED_ELSEWHERE.values()) == set(POLICIES)
