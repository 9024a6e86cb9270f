"""Every plan of the package is valid: its settings, policies, metrics and hypotheses."""

import pytest

from kinfolk.jobs.studies.checks import check_plan
from kinfolk.jobs.studies.conditions import estimate_seconds
from kinfolk.jobs.studies.plan import list_plans, read_plan_text

NAMES = [
    "capture_rules", "fertility_and_age", "inheritance", "lineage_reward", "red_queen",
    "reward_shaping", "roles_or_mix", "stag_hunt",
]  # fmt: skip


def test_eight_plans_are_shipped():
    assert list_plans() == NAMES


@pytest.mark.train  # the nets of stages that train are built
@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_plan_is_valid_and_fits_its_time(name):
    plan = check_plan(name, read_plan_text(name)[1])
    assert plan.seeds >= 5
    assert estimate_seconds(plan, quick=False, jobs=2) <= 90 * 60
    assert estimate_seconds(plan, quick=True, jobs=2) <= 90
    used = {hypothesis.metric for hypothesis in plan.hypotheses}
    assert all(plan.metrics[metric].about for metric in used)
    assert all(hypothesis.refuted_by for hypothesis in plan.hypotheses)
    for hypothesis in plan.hypotheses:  # contrasts compare conditions with each other
        weights = [term.weight for term in hypothesis.contrast]
        assert sum(weights) == pytest.approx(0.0, abs=1e-12)
