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
    # Those of the savanna are held to the contract in savanna/.
    assert set(POLICIES) - {"hunter", "grazer", "balance"} == {
        "random",
        "noop",
        "probe-plain",
        "probe-hoard",
        "probe-gru",
        "probe-members",
    }
