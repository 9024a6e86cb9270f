"""The benchmarks of large savannas, of the PettingZoo adapter and of another revision."""

from pathlib import Path

import pytest

import kinfolk
from kinfolk.bench import large_savanna, revisions, savanna_rates
from kinfolk.cli.app import main
from kinfolk.cli.world_figures import _show_large_savanna, show_revisions
from kinfolk.core.errors import UsageError


def test_large_worlds_and_adapters_are_measured_and_shown(monkeypatch, capsys):
    small = {
        "AGENT_COUNTS": (200, 400), "THREADED_AGENTS": 400, "BLOCK": 64, "WALLED_SIZE": 60,
        "_LEAST_AGENT_STEPS": 1, "_ADAPTER_STEPS": 5, "_ADAPTER_TRIES": 1,
    }  # fmt: skip
    for name, value in small.items():
        monkeypatch.setattr(large_savanna, name, value)
    report = {
        "pettingzoo": large_savanna.bench_adapter(),
        "large": large_savanna.bench_large_savanna(),
    }
    assert report["pettingzoo"]["agents"] == pytest.approx(30, abs=5)
    assert report["pettingzoo"]["arrays"] > 0 < report["pettingzoo"]["dictionaries"]
    large = report["large"]
    assert [row["agents"] for row in large["by_agents"]] == [200, 400]
    assert all(0 < row["ns_rules"] < row["ns_per_agent_step"] for row in large["by_agents"])
    assert all(150 < row["alive"] < 1200 for row in large["by_agents"])
    assert large["slowest_to_fastest"] >= 1.0
    assert large["threads"]["ratio"] > 0
    assert large["walls"]["walls"] == pytest.approx(0.05 * 60 * 60, rel=0.3)
    _show_large_savanna(report)
    printed = capsys.readouterr().out
    assert "One world of 400 agents" in printed
    assert "Set-up of 60 x 60 cells with " in printed


def test_two_revisions_are_compared_by_the_median_ratio_of_rounds(monkeypatch, capsys):
    own = Path(kinfolk.__file__).parent.parent
    rates = iter([9.0, 9.0, 1000.0, 3000.0, 2000.0, 4000.0, 1000.0, 5000.0])
    measured = []

    def measure(source):
        measured.append(source)
        return {"compact": next(rates)}

    monkeypatch.setattr(revisions, "_measure", measure)
    report = revisions.compare_revisions(own, rounds=3)
    assert len(measured) == 8, "a round that is not counted, and three"
    assert report == {
        "rounds": 3,
        "figures": [
            {
                "name": "compact", "before": 1000.0, "now": 4000.0,
                "ratio": 3.0, "lowest": 2.0, "highest": 5.0,
                "rates": [[1000.0, 2000.0, 1000.0], [3000.0, 4000.0, 5000.0]],
            }
        ],
    }  # fmt: skip
    show_revisions(report)
    assert "3.00" in capsys.readouterr().out


def test_a_folder_without_a_package_gets_an_error_message(tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["bench", "--against", str(tmp_path)])
    assert stopped.value.code == 2
    error = capsys.readouterr().err.replace("\n", " ")
    assert f"There is no package kinfolk in {tmp_path}." in error


def test_a_revision_that_cannot_be_measured_says_why(tmp_path):
    (tmp_path / "kinfolk").mkdir()
    (tmp_path / "kinfolk" / "__init__.py").write_text("raise ValueError('an early draft')")
    with pytest.raises(UsageError) as caught:
        revisions.compare_revisions(tmp_path, rounds=1)
    assert str(caught.value) == (
        f"The savanna of {tmp_path} could not be measured: ValueError: an early draft"
    )


def test_the_rates_of_this_revision_are_measured(monkeypatch):
    monkeypatch.setattr(savanna_rates, "_TICKS", 3)
    monkeypatch.setattr(savanna_rates, "_STEPS", 3)
    monkeypatch.setattr(savanna_rates, "_TRIES", 1)
    rules, whole = savanna_rates.measure_batch("compact")
    assert 0 < whole < rules
    assert savanna_rates.measure_adapter() > 0
