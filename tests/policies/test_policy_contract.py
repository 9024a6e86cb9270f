import pytest

from kinfolk.policies.resolve import POLICIES
from kinfolk.testing.contracts.policy import PolicyContract


class TestEveryPolicyOnTheProbe(PolicyContract):
    @pytest.fixture(
        params=[
            "random",
            "noop",
            "probe-python",
            "probe-explaining",
            "probe-large-memory",
            "probe-gru",
            "probe-population",
        ]
    )
    def uri(self, request):
        return f"kin://{request.param}"


# Held to the contract in other files, or on worlds of their own.
ELSEWHERE = {
    "savanna/": {"hunter", "grazer"},
    "cogsguard/": {"roles", "smart", "role/NAME", "behavior/NAME"},
    "test_evolved.py": {"cartpole"},
    "test_neural.py": {"mlp", "conv", "gru", "net"},
}


def test_no_policy_is_left_out():
    assert set(POLICIES) - set().union(*ELSEWHERE.values()) == {
        "random",
        "noop",
        "probe-python",
        "probe-explaining",
        "probe-large-memory",
        "probe-gru",
        "probe-population",
    }
