"""Figures of runs: what they draw, how runs become lines, and messages where there is nothing to draw."""

import json
import math

import numpy as np
import pytest

import kinfolk as kf
from kinfolk.api.stored_runs import RunList
from kinfolk.cli.app import main
from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.evaluation.figures.curves import Curve, draw_curves
from kinfolk.evaluation.figures.estimates import draw_estimates
from kinfolk.evaluation.figures.matrices import draw_archive
from kinfolk.evaluation.statistics import Estimate, t_intervals
from kinfolk.jobs.figures.kinds import draw_runs
from kinfolk.jobs.figures.sources import FigureSource
from kinfolk.store.run import create_run, open_run

pytest.importorskip("matplotlib", reason="the extra plots is not installed")
SHORT = {"world_settings": {"max_ticks": 6}, "episodes": 4}
EVERYBODY = {"grazer": "candidate", "hunter": "candidate"}
NETS = {"population": 4, "generations": 2, "held_out_episodes": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of every job that is quick to run, by name."""
    folder = tmp_path_factory.mktemp("runs")
    kf.evaluate(slots={"all": "kin://random"}, **SHORT, out=folder / "eval")
    kf.compare(
        "kin://noop", "kin://random", agent_slot_map=EVERYBODY, **SHORT, out=folder / "compare"
    )
    kf.round_robin("kin://noop", "kin://random", "kin://noop", **SHORT, out=folder / "rated")
    meet = {"world_settings": {"max_ticks": 6}, "games": 2}
    grazers = {"grazer": {"still": "kin://noop", "odd": "kin://random"}}
    hunters = {"hunter": grazers["grazer"]}
    open_doors = {"sandbox": False, "isolate": "none", "replays": 0}
    kf.tournament(grazers, hunters, world="probe", **meet, **open_doors, out=folder / "tournament")
    kf.crossplay(grazers, hunters, world="probe", **meet, out=folder / "crossplay")
    for seed in (0, 1):
        kf.evolve_nets("probe", **NETS, seed=seed, out=folder / f"nets-{seed}")
    kf.evolve_nets("probe", **NETS, algorithm="sep-cma", out=folder / "nets-cma")
    kf.sweep(vary={"max_ticks": [4, 8]}, seeds=2, metric="ticks", episodes=2, out=folder / "sweep")
    kf.sweep("evolve-nets", task="probe", vary={"population": [4, 6]}, seeds=2, generations=2,
             held_out_episodes=2, out=folder / "sweep-nets")  # fmt: skip
    return {run.name: run for run in kf.runs(folder)}


def labels(figure):
    """Return the texts of the axes and of the legend."""
    axes = figure.axes[0]
    legend = axes.get_legend()
    entries = [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return axes.get_xlabel(), axes.get_ylabel(), entries


def test_an_evaluation_is_drawn_as_estimates_a_profile_or_populations(runs):
    run = runs["eval"]
    assert labels(run.plot())[0] == "return\nmean, 95 % interval over 4 episodes"
    assert labels(run.plot(metric="ticks"))[0] == "ticks\nmean, 95 % interval over 4 episodes"
    assert labels(run.plot("profile"))[1] == (
        "share of episodes above it\n95 % interval of each point"
    )
    x, y, groups = labels(run.plot("populations"))
    assert (x, y) == ("tick", "alive\nmean, 95 % interval over 4 episodes")
    assert groups == ["grazer", "hunter"]


def test_a_comparison_has_a_point_for_each_policy(runs):
    figure = runs["compare"].plot()
    ticks = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert ticks == ["kin://noop", "kin://random"]
    assert labels(runs["compare"].plot("profile"))[2] == ["kin://noop", "kin://random"]


def test_payoffs_are_means_of_the_row_against_the_column(runs):
    run = runs["rated"]
    values = run.plot().axes[0].images[0].get_array()
    games = [event for event in run.events() if event["kind"] == "pair_played"]
    scores = [game["first_score"] for game in games if (game["first"], game["second"]) == (0, 1)]
    assert values[0, 1] == pytest.approx(np.mean(scores))
    assert math.isnan(values.filled(np.nan)[0, 0])
    ticks = [text.get_text() for text in run.plot().axes[0].get_yticklabels()]
    assert ticks == ["kin://noop", "kin://random", "kin://noop (2)"]
    won = run.plot(metric="won").axes[0].images[0].get_array()
    assert won[0, 1] + won[1, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["tournament", "crossplay"])
def test_payoffs_of_sides_are_a_matrix_for_each(runs, name):
    run = runs[name]
    figure = run.plot()
    first, second = [axes for axes in figure.axes if axes.images and axes.get_yticklabels()][:2]
    assert [text.get_text() for text in first.get_yticklabels()] == ["still", "odd"]
    assert [text.get_text() for text in first.get_xticklabels()] == ["still", "odd"]
    assert (first.get_ylabel(), first.get_xlabel()) == ("grazer", "against hunter")
    assert (second.get_ylabel(), second.get_xlabel()) == ("hunter", "against grazer")
    cells = list(run.events())[-1]["payoffs"][0][4]
    assert first.images[0].get_array()[:, 0].tolist() == pytest.approx([row[0][0] for row in cells])
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == ["mean score\n2 seeds each"] * 2
    with pytest.raises(UsageError) as refused:
        run.plot(metric="won")
    assert str(refused.value) == (
        "grazer and hunter do not win against each other; draw the metric score."
    )


def test_shares_won_in_a_tournament_and_self_play_have_intervals_over_seeds(runs):
    x, _, _ = labels(runs["tournament"].plot("estimates"))
    assert x == "win rate\nmean, 95 % interval over 2 seeds"
    ticks = runs["crossplay"].plot("estimates").axes[0].get_yticklabels()
    assert [text.get_text() for text in ticks][:3] == [
        "self-play (grazer)", "cross-play (grazer)", "difference (grazer)"
    ]  # fmt: skip
    with pytest.raises(UsageError) as refused:
        runs["tournament"].plot("estimates", "ratings")
    assert str(refused.value) == (
        "A run of tournament has no estimate of 'ratings'. Did you mean 'rating'? Known: win_rate, "
        "score, rating."
    )


def test_a_win_of_a_tournament_is_over_the_rival_in_the_same_game():
    games = [([1.0, 2.0], 0), ([3.0, 3.0], 1), ([5.0, 2.0], 2)]
    events = [
        {"kind": "game_played", "policies": ["a", "b"], "scores": scores, "step": step}
        for scores, step in games
    ]
    last = {"kind": "tournament_done", "sides": [], "policies": ["a", "b"]}
    source = FigureSource("mine", "tournament", {}, [*events, last])
    axes = draw_runs([source], "payoffs", "won").axes
    won = axes[0].images[0].get_array().filled(np.nan)
    assert (won[0, 1], won[1, 0]) == (0.5, 0.5)
    assert axes[1].get_ylabel() == "share of games won\n3 seeds each"


def test_runs_that_differ_in_their_seed_are_one_line_and_others_are_named_by_what_differs(runs):
    chosen = RunList([runs["nets-0"], runs["nets-1"], runs["nets-cma"]])
    x, y, lines = labels(chosen.plot())
    assert x == "generation"
    assert y == "mean fitness\nmean, 95 % interval over 1 to 2 seeds"
    assert lines == [
        "algorithm = default, grazer",
        "algorithm = default, hunter",
        "algorithm = sep-cma, grazer",
        "algorithm = sep-cma, hunter",
    ]
    assert labels(chosen.plot(metric="best"))[1].startswith("best\n")


def test_estimates_of_runs_that_differ_in_their_seed_are_pooled(tmp_path, capsys):
    folders = []
    means = {}
    for policy in ("noop", "random"):
        for seed in range(3):
            out = tmp_path / f"{policy}-{seed}"
            result = kf.evaluate(slots={"all": f"kin://{policy}"}, **SHORT, seed=seed, out=out)
            means.setdefault(policy, []).append(result.returns["all"].mean)
            folders.append(out)
    stored = {run.name: run for run in kf.runs(tmp_path)}
    six = RunList([stored[folder.name] for folder in folders])
    figure = six.plot()
    x, _, lines = labels(figure)
    assert x == "return\nmean, 95 % interval over 3 seeds"
    assert lines == ["slots.all = kin://noop", "slots.all = kin://random"]
    markers = [line for line in figure.axes[0].lines if line.get_marker() not in ("|", "None")]
    assert [len(line.get_xdata()) for line in markers] == [1, 1]
    assert markers[1].get_xdata()[0] == pytest.approx(np.mean(means["random"]))
    mixed = RunList([*six[:1], *six[3:]])
    assert labels(mixed.plot())[0].endswith("over seeds, of a single run over episodes")
    with pytest.raises(SystemExit) as left:
        main(["plot", str(folders[0]), str(folders[1]), str(folders[0])])
    assert left.value.code == 2
    assert capsys.readouterr().err == (
        "noop-0 and noop-0 have the same settings and the same seed, so they are the same result "
        "twice. Draw one of them.\n"
    )


def test_a_figure_of_populations_says_where_it_stops(tmp_path, capsys):
    slots = {"slots": {"all": "kin://random"}, "episodes": 12}
    kf.evaluate("savanna", **slots, world_settings={"max_steps": 60}, out=tmp_path / "run")
    played = FigureSource.of_run(open_run(tmp_path / "run")).of_kind("episode_played")
    ticks = [event["ticks"] for event in played[:10]]
    shortest, longest = min(ticks), max(ticks)
    assert shortest < longest
    stops = f"stops at tick {shortest}, where the shortest of its 10 episodes ends"
    with pytest.warns(UserWarning, match=stops):
        x, y, _ = labels(kf.runs(tmp_path)[0].plot("populations"))
    assert x == f"tick; ends with the shortest episode\n(the longest has {longest} ticks)"
    assert y == "alive, first 10 of 12 episodes\nmean, 95 % interval over 10 episodes"
    with pytest.raises(SystemExit) as left:
        main(
            [
                "plot",
                str(tmp_path / "run"),
                "--kind",
                "populations",
                "--out",
                str(tmp_path / "p.pdf"),
            ]
        )
    assert left.value.code == 0
    assert stops in capsys.readouterr().err


def test_a_sweep_draws_every_column_of_its_table(runs):
    run = runs["sweep"]
    assert labels(run.plot())[1] == "ticks\nmean, 95 % interval over 2 seeds"
    figure = run.plot(metric="return")
    assert labels(figure)[1] == "return\nmean, 95 % interval over 2 seeds"
    table = list(run.events())[-1]["table"]
    rows = zip(table["max_ticks"], table["return"], strict=True)
    of_four = [value for ticks, value in rows if ticks == 4]
    assert np.mean(of_four) in [float(y) for line in figure.axes[0].lines for y in line.get_ydata()]


def test_several_metrics_are_panels_of_one_figure(runs, tmp_path):
    figure = runs["sweep"].plot(metric=["ticks", "return", "deaths"])
    shown = [axes.get_ylabel().splitlines()[0] for axes in figure.axes]
    assert shown == ["ticks", "return", "deaths"]
    assert figure.get_size_inches().tolist() == [4.5, 9.0]
    alone = runs["sweep"].plot(metric="return").axes[0]
    assert figure.axes[1].get_ylim() == alone.get_ylim()
    assert labels(runs["sweep"].plot(metric=["return"])) == labels(
        runs["sweep"].plot(None, "return")
    )
    words = ["plot", str(runs["eval"].folder), "--metric", "ticks", "--metric", "return"]
    path = tmp_path / "two.svg"
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--out", str(path)])
    assert [text in path.read_text() for text in (">ticks<", ">return<")] == [True, True]
    with pytest.raises(UsageError, match=r"The sweep has no metric 'tick'. Did"):
        runs["sweep"].plot(metric=["return", "tick"])


def test_a_sweep_of_evolutions_has_learning_curves(runs):
    _, y, lines = labels(runs["sweep-nets"].plot("curves"))
    assert y == "mean fitness\nmean, 95 % interval over 2 seeds"
    assert lines == ["population = 4, grazer", "population = 4, hunter",
                     "population = 6, grazer", "population = 6, hunter"]  # fmt: skip
    assert labels(runs["sweep"].plot())[0] == "max_ticks"


def test_the_band_of_a_curve_is_students_t_over_seeds():
    curves = [Curve([0, 1, 2, 3], [s, s + 1, s + 2, s + 3]) for s in (0.0, 1.0, 5.0)]
    axes = draw_curves({"": curves}, "steps", "score").axes[0]
    mean, low, high = t_intervals(np.array([curve.y for curve in curves]).T)
    assert axes.lines[0].get_ydata() == pytest.approx(mean)
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (corners.min(), corners.max()) == pytest.approx((low.min(), high.max()))


def test_values_over_a_decade_in_growing_steps_have_a_logarithmic_axis():
    settings = [{"rate": rate} for rate in (0.001, 0.003, 0.01)]
    figure = draw_estimates(settings, [Estimate(1.0, 0.5, 1.5, 3)] * 3, "score", "3 seeds")
    assert figure.axes[0].get_xscale() == "log"


def test_an_archive_has_its_first_axis_to_the_right():
    grid = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    figure = draw_archive(grid, [("speed", 0.0, 1.0), ("energy", 0.0, 9.0)], "fitness")
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("speed", "energy")
    assert axes.images[0].get_array().shape == (3, 2)
    assert figure.axes[1].get_ylabel() == "fitness\n5 of 6 cells filled"


def test_an_archive_of_three_axes_shows_the_best_along_the_third():
    grid = np.full((2, 2, 2), np.nan)
    grid[0, 1] = 3.0, 8.0
    grid[1, 1, 0] = 2.0
    axes = [(name, 0.0, 1.0) for name in ("miner", "scrambled", "moves")]
    figure = draw_archive(grid, axes, "junction-ticks")
    shown = figure.axes[0].images[0].get_array()
    assert shown.filled(-1.0).tolist() == [[-1.0, -1.0], [8.0, 2.0]]
    assert figure.axes[1].get_ylabel() == "junction-ticks\nbest over moves; 3 of 8 cells filled"


def test_the_hall_of_a_co_evolution_and_the_archive_of_roles_are_drawn(tmp_path):
    run = create_run(tmp_path / "roles", "evolve_roles", {})
    hall = {"champions": ["1-5", "2-5"], "payoffs": [[0.0, 2.0], [-2.0, 0.0]], "games": 16}
    source = FigureSource(
        "roles", "evolve_roles", {}, [{"kind": "hall_updated", "step": 4, **hall}], run
    )
    figure = draw_runs([source], "payoffs")
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["1-5", "2-5"]
    assert figure.axes[1].get_ylabel() == "mean lead of the row's champion\n16 games each"
    axis = {"name": "miner", "low": 0.0, "high": 1.0, "cells": 2}
    elites = [{"cell": "1", "fresh_score": 5.0}]
    archive = {"metric": "junction-ticks", "axes": [axis], "teams": elites, "roles": []}
    with pytest.raises(
        UsageError, match="has no archive: it was not evolved with --archive, or has"
    ):
        draw_runs([source], "archive")
    (run.folder / "archive.json").write_text(json.dumps(archive))
    figure = draw_runs([source], "archive")
    assert figure.axes[1].get_ylabel() == "junction-ticks, fresh games\n1 of 2 cells filled"
    (run.folder / "archive.json").write_text(json.dumps({**archive, "axes": [{}]}))
    with pytest.raises(DamagedRunError, match="is damaged \\(KeyError: 'cells'\\)"):
        draw_runs([source], "archive")


def test_the_command_writes_vector_figures_with_the_same_bytes_each_time(
    runs, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    folders = [str(runs[name].folder) for name in ("nets-0", "nets-1")]
    for out in ("a.svg", "b.svg", "a.pdf", "b.pdf"):
        with pytest.raises(SystemExit) as left:
            main(["plot", *folders, "--metric", "best", "--out", out])
        assert left.value.code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert ">generation<" in (tmp_path / "a.svg").read_text(), "text stays text"
    with pytest.raises(SystemExit) as left:
        main(["plot", folders[0]])
    assert (left.value.code, (tmp_path / "nets-0.pdf").exists()) == (0, True)
    assert "nets-0.pdf: " in capsys.readouterr().err


def test_results_without_a_run_are_drawn_from_what_they_know(tmp_path):
    result = kf.evaluate(slots={"all": "kin://random"}, **SHORT)
    assert labels(result.plot())[0] == "return\nmean, 95 % interval over 4 episodes"
    result.save(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert result.plot()._repr_png_().startswith(b"\x89PNG"), "a notebook shows it"
    with pytest.raises(UsageError) as refused:
        result.plot("profile")
    assert str(refused.value) == (
        "There is nothing to draw yet: no event 'episode_played'. Give the job a folder, out='...'."
    )


@pytest.mark.parametrize(
    ("names", "kind", "metric", "message"),
    [
        (
            ["eval"], "curve", None,
            "A run of evaluate has no figure 'curve'. Known: estimates, populations, profile.",
        ),
        (
            ["eval", "compare"], None, None,
            "One figure is of runs of one job; these are of evaluate and compare. Draw them one by one.",
        ),
        (["sweep"], "curves", None,
         "Evaluations have no learning curves; draw the estimates of this sweep."),
        (["rated"], "payoffs", "wins", "Payoffs are of the metric score or won, not of 'wins'."),
        (["nets-0"], "archive", None, "has no archive: it was not evolved with --archive."),
        (["nets-0"], None, "bst", "A run of evolve_nets has no metric 'bst'. Did you mean 'best'?"),
        (["eval"], None, "tick", "An evaluation has no estimate of 'tick'. Did you mean 'ticks'?"),
        (["sweep"], None, "tick", "The sweep has no metric 'tick'. Did you mean 'ticks'?"),
        (["compare"], "estimates", "ticks",
         "Estimates of compare are of its metric 'return', not of 'ticks'."),
        (["sweep"], "profile", "tick", "The sweep has no metric 'tick'. Did you mean 'ticks'?"),
        (["eval"], "profile", "ticks",
         "A profile of evaluate is of the metric 'return', not of 'ticks'."),
        (["eval"], "populations", "ticks",
         "A figure of populations has no metric, so leave out 'ticks'."),
        (["nets-0"], "archive", "best", "A figure of archives has no metric, so leave out 'best'."),
        ([], None, None, "There is no run to draw."),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(runs, names, kind, metric, message):
    with pytest.raises(UsageError) as refused:
        RunList([runs[name] for name in names]).plot(kind, metric)
    assert message in str(refused.value)
