import numpy as np
import pytest

from kinfolk.evaluation.summary import Estimate, estimate


def test_a_mean_lies_within_its_interval_and_the_interval_is_the_same_each_time():
    values = np.random.default_rng(1).normal(10.0, 2.0, 200)
    found = estimate(values)
    assert found.low < found.mean < found.high
    # 95 % of a normal mean: 1.96 * 2 / sqrt(200) on either side
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / 200**0.5, rel=0.2)
    assert estimate(values) == found


@pytest.mark.parametrize("values", [[4.0], [4.0, 4.0, 4.0]])
def test_values_without_spread_have_no_interval(values):
    assert estimate(np.array(values)) == Estimate(4.0, 4.0, 4.0)
