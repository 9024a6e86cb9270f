import pytest

from kinfolk.policies.resolve import POLICIES
from kinfolk.testing.policy_contract import PolicyContract


class TestEveryPolicyOnTheProbe(PolicyContract):
    @pytest.fixture(
        params=["random", "noop", "probe-plain", "probe-hoard", "probe-gru", "probe-members"]
    )
    def uri(self, request):
        return f"kin://{request.param}"


def test_no_policy_is_left_out():
    assert set(POLICIES) == {
        "random",
        "noop",
        "probe-plain",
        "probe-hoard",
        "probe-gru",
        "probe-members",
    }
