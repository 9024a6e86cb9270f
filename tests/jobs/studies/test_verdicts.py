"""Verdicts follow from numbers by rules: supported, refuted, not decided, with a correction."""

import pytest

from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.studies.conditions import Condition
from kinfolk.jobs.studies.effects import (
    HypothesisEffect,
    compute_effect,
    describe_comparison,
    measure_effect,
    weigh_conditions,
)
from kinfolk.jobs.studies.outputs import draw_metric
from kinfolk.jobs.studies.plan import StudyHypothesis
from kinfolk.jobs.studies.report import tabulate_estimates
from kinfolk.jobs.studies.results import ConditionEstimate
from kinfolk.jobs.studies.verdicts import count_needed_seeds, decide_all

BASE = {"name": "h", "claim": "c", "metric": "m", "predict": "higher", "refuted_by": "r"}
DOSES = [Condition(x, {"dose": x}, {}) for x in ("0", "1", "2")]
TABLE = [Condition(f"{a} / {b}", {"a": a, "b": b}, {}) for a in ("on", "off") for b in ("x", "y")]
CLEAR = (1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.05, 0.95)
OPEN = (1.0, -1.1, 0.9, -1.2, 0.8, -1.0, 0.3, 0.2)


def hypothesis(**fields):
    return StudyHypothesis(**{**BASE, **fields})


def decide(values, n_others=0, quick=False, **fields):
    """The verdict on one hypothesis, beside others with the same effects."""
    others = [HypothesisEffect(tuple(values), 0)] * n_others
    asked = [hypothesis(**fields), *[hypothesis()] * n_others]
    return decide_all(asked, [HypothesisEffect(tuple(values), 0), *others], quick)[0]


class TestWeights:
    def test_two_levels_are_averaged_over_the_other_factors(self):
        weights = weigh_conditions(hypothesis(factor="a", levels=("on", "off")), TABLE)
        assert weights == {"on / x": 0.5, "on / y": 0.5, "off / x": -0.5, "off / y": -0.5}

    def test_when_picks_levels_of_other_factors(self):
        asked = hypothesis(factor="a", levels=("on", "off"), when={"b": "y"})
        assert weigh_conditions(asked, TABLE) == {"on / y": 1.0, "off / y": -1.0}

    def test_a_trend_is_the_change_of_the_fitted_line(self):
        weights = weigh_conditions(hypothesis(factor="dose", trend=True), DOSES)
        assert weights == {"0": -1.0, "1": 0.0, "2": 1.0}
        values = {"0": [1.0], "1": [9.0], "2": [4.0]}
        assert compute_effect(hypothesis(), weights, values).values == (3.0,)

    def test_a_trend_over_equal_values_is_exactly_nothing(self):
        levels = [Condition(x, {"dose": x}, {}) for x in ("0.0", "0.1", "0.2", "0.4", "0.8")]
        weights = weigh_conditions(hypothesis(factor="dose", trend=True), levels)
        values = {level.name: [0.3, 7.1] for level in levels}
        assert compute_effect(hypothesis(), weights, values).values == (0.0, 0.0)

    def test_a_contrast_adds_weighted_means(self):
        terms = [
            {"weight": 1.0, "when": {"a": "on", "b": "x"}},
            {"weight": -1.0, "when": {"b": "y"}},
        ]
        weights = weigh_conditions(hypothesis(contrast=terms), TABLE)
        assert weights == {"on / x": 1.0, "on / y": -0.5, "off / y": -0.5}

    def test_seeds_without_a_value_are_left_out_and_counted(self):
        values = {"0": [1.0, None, 2.0], "1": [0.0, 0.0, 0.0], "2": [4.0, 5.0, 4.0]}
        weights = weigh_conditions(hypothesis(factor="dose", levels=("2", "0")), DOSES)
        assert compute_effect(hypothesis(), weights, values)[:2] == ((3.0, 2.0), 1)

    def test_an_effect_is_described_in_words(self):
        asked = hypothesis(factor="a", levels=("on", "off"), when={"b": "y"})
        assert describe_comparison(asked) == "m: a = on minus off where b = y"
        assert describe_comparison(hypothesis(factor="dose", trend=True)) == (
            "m: slope of a line through all levels of dose, times their range"
        )
        assert describe_comparison(hypothesis(against=2.0)) == "mean of m minus 2"
        assert describe_comparison(hypothesis(effect="what is left")) == "m: what is left"

    def test_an_effect_says_over_what_it_is_averaged_and_what_it_is_there(self):
        asked = hypothesis(factor="a", levels=("on", "off"))
        values = {"on / x": [3.0], "off / x": [1.0], "on / y": [10.0], "off / y": [4.0]}
        effect = measure_effect(asked, TABLE, values)
        assert effect.values == (4.0,)
        assert effect.parts == (("b = x", (2.0,)), ("b = y", (6.0,)))
        [verdict] = decide_all([asked], [effect], quick=False)
        assert verdict.comparison == "m: a = on minus off, averaged over b"
        assert [(name, estimate.mean) for name, estimate in verdict.parts] == [
            ("b = x", 2.0), ("b = y", 6.0),
        ]  # fmt: skip

    def test_an_effect_within_one_condition_is_averaged_over_nothing(self):
        asked = hypothesis(factor="a", levels=("on", "off"), when={"b": "y"})
        values = {condition.name: [1.0] for condition in TABLE}
        effect = measure_effect(asked, TABLE, values)
        assert (effect.averaged, effect.parts) == ((), ())


def test_a_table_has_the_levels_of_the_last_factor_as_columns_and_marks_what_is_weak():
    def row(a, b, mean, values):
        return ConditionEstimate(
            "m", "s", f"{a} / {b}", {"a": a, "b": b}, Estimate(mean, mean - 1, mean + 1, 8), values
        )  # fmt: skip

    even, skewed = [float(i) for i in range(8)], [0.0] * 7 + [50.0]
    rows = [row("on", "x", 12.34, even), row("on", "y", 0.5, skewed),
            row("off", "x", 2.0, [*even[:6], None, None]), row("off", "y", 3.0, even)]  # fmt: skip
    table = tabulate_estimates(rows, 8)
    assert table.headings == ["a", "b = x", "b = y"]
    assert table.rows == [
        ["on", "12.3 (11.3 to 13.3)", "0.5 (-0.5 to 1.5)\\*"],
        ["off", "2.0 (1.0 to 3.0), n = 6", "3.0 (2.0 to 4.0)"],
    ]


def test_a_figure_of_three_factors_names_two_of_them_and_colors_the_last():
    pytest.importorskip("matplotlib")
    rows = [
        ConditionEstimate("m", "s", f"{a}{b}{c}", {"a": a, "b": b, "c": c}, Estimate(1.0, 0.5, 1.5, 8), [])
        for a in ("on", "off") for b in ("x", "y") for c in ("red", "blue")
    ]  # fmt: skip
    [axes] = draw_metric(rows, 8, "births per episode").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "on, x", "on, y", "off, x", "off, y",
    ]  # fmt: skip
    assert axes.get_ylabel() == "a, b"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["c = red", "c = blue"]
    assert axes.get_xlabel() == "births per episode\nmean, 95 % interval over 8 seeds"


class TestDirection:
    def test_a_clear_effect_as_predicted_supports_the_claim(self):
        result = decide(CLEAR)
        assert (result.verdict, result.p_value) == ("supported", 0.0078125)
        assert (
            result.reason
            == "The effect is 1 (adjusted p = 0.00781), in the direction of the claim."
        )

    def test_a_clear_effect_the_other_way_refutes_it(self):
        result = decide(CLEAR, predict="lower")
        assert (result.verdict, result.finding) == ("refuted", "refuted: the opposite was found")
        assert result.reason == "The effect is 1 (adjusted p = 0.00781), in the opposite direction."

    def test_no_clear_effect_is_a_null_result_with_what_is_still_possible(self):
        result = decide(OPEN)
        assert result.verdict == "not decided"
        assert result.reason == (
            "Neither direction was shown (adjusted p = 1); effects from -0.801 to 0.776 are possible "
            "(simultaneous interval), larger ones are excluded. No smallest effect that matters was set, so "
            "that a small one cannot be told from none."
        )

    def test_an_effect_that_is_too_small_to_matter_refutes_the_claim(self):
        result = decide(CLEAR, smallest=2.0)
        assert result.verdict == "refuted"
        assert result.reason == (
            "The simultaneous interval, 0.898 to 1.1, excludes an effect of 2, the smallest that matters."
        )
        assert decide(OPEN, smallest=2.0).verdict == "refuted"

    def test_an_effect_that_may_be_too_small_is_not_decided(self):
        result = decide(CLEAR, smallest=1.05)
        assert result.verdict == "not decided"
        assert "in the direction of the claim but below 1.05" in result.reason


class TestEquality:
    def test_an_interval_within_the_margin_supports_it(self):
        assert decide(OPEN, predict="equal", smallest=1.0).verdict == "supported"

    def test_a_clear_effect_beyond_the_margin_refutes_it(self):
        assert decide(CLEAR, predict="equal", smallest=0.5).finding == "refuted: they differ"

    def test_a_wide_interval_is_not_decided(self):
        assert decide(OPEN, predict="equal", smallest=0.1).verdict == "not decided"


class TestCorrection:
    def test_the_same_numbers_decide_less_among_more_hypotheses(self):
        alone, among = decide(CLEAR), decide(CLEAR, n_others=6)
        assert (alone.adjusted_p_value, among.adjusted_p_value) == (0.0078125, 0.0546875)
        assert (alone.verdict, among.verdict) == ("supported", "not decided")
        assert among.p_value == alone.p_value

    def test_a_quick_run_decides_nothing(self):
        result = decide(CLEAR, quick=True)
        assert (result.verdict, result.reason) == ("not decided", "A quick run decides nothing.")

    def test_one_value_decides_nothing(self):
        result = decide((1.0,))
        assert result.reason == "Only 1 seeds have a value in all conditions."
        assert decide(()).effect is None

    @pytest.mark.parametrize(("n", "seeds"), [(1, 6), (2, 7), (5, 8), (7, 9)])
    def test_more_hypotheses_need_more_seeds(self, n, seeds):
        assert count_needed_seeds(n) == seeds
        values = tuple(1.0 + 0.01 * i for i in range(seeds))
        assert decide(values, n_others=n - 1).verdict == "supported"
        assert decide(values[:-1], n_others=n - 1).verdict == "not decided"
