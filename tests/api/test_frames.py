"""Results as data frames, files and HTML, and the messages where a library is missing."""

import csv
import importlib.util

import pytest

import kinfolk as kf
from kinfolk.api import frames
from kinfolk.core.errors import UsageError

EVALUATION = {"slots": {"all": "kin://random"}, "episodes": 3, "world_settings": {"max_ticks": 6}}
SWEEP = {"vary": {"max_ticks": [4, 8]}, "seeds": 2, "metric": "ticks", "episodes": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames") / "run"
    return kf.evaluate(**EVALUATION, replays=1, out=folder).run


@pytest.fixture(scope="module")
def swept():
    return kf.sweep("eval", **SWEEP)


def test_the_episodes_of_a_run_are_a_frame(run):
    pytest.importorskip("pandas")
    frame = run.frame("episodes")
    assert frame["episode"].tolist() == [0, 1, 2]
    assert frame["ticks"].tolist() == [6, 6, 6]
    assert "returns.all" in frame.columns
    events = run.frame("episode_played")
    assert events["returns/all"].tolist() == frame["returns.all"].tolist()
    assert run.frame("events")["step"].tolist() == [0, 1, 2], "the most frequent kind of event"
    assert run.frame().equals(frame), "what one would look at first"
    assert len(run.frame("agents")) == sum(frame["lives.all"])
    assert len(run.frame("failures")) == 0


def test_the_estimates_of_a_result_are_a_frame():
    pytest.importorskip("pandas")
    result = kf.evaluate(**EVALUATION)
    frame = result.frame("pandas").set_index("name")
    assert frame.loc["returns/all", "mean"] == result.returns["all"].mean
    assert frame.loc["returns/all", "n"] == 3


def test_a_sweep_is_a_tidy_frame_and_a_csv_with_a_column_of_the_varied_setting(swept, tmp_path):
    pytest.importorskip("pandas")
    assert swept.frame()["max_ticks"].tolist() == [4, 4, 4, 4, 8, 8, 8, 8]
    swept.save(tmp_path / "table.csv")
    first = (tmp_path / "table.csv").read_bytes()
    rows = list(csv.DictReader(first.decode().splitlines()))
    assert [(row["max_ticks"], row["seed"], row["ticks"]) for row in rows[::2]] == [
        ("4", "0", "4.0"),
        ("4", "1", "4.0"),
        ("8", "0", "8.0"),
        ("8", "1", "8.0"),
    ]
    kf.sweep("eval", **SWEEP).save(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == first


def test_a_frame_without_pandas_and_polars_says_what_to_install(swept, monkeypatch):
    monkeypatch.setattr(frames, "find_spec", lambda _name: None)
    with pytest.raises(UsageError) as refused:
        swept.frame()
    assert str(refused.value) == (
        "A data frame needs the library pandas or polars, which is not installed: pip install "
        "pandas. Without it there is save('table.csv')."
    )
    with pytest.raises(UsageError, match=r"^A data frame needs the library polars, which is not "):
        swept.frame("polars")
    with pytest.raises(UsageError, match=r"^A frame is of pandas or of polars, not of 'excel'\.$"):
        swept.frame("excel")


def test_an_unknown_table_and_an_unknown_suffix_are_refused(run, swept, tmp_path):
    with pytest.raises(UsageError) as refused:
        run.table("episode")
    assert str(refused.value) == (
        "A run of evaluate has no table 'episode'. Did you mean 'episodes'? Known: episodes, agents, "
        "failures, episode_played, evaluated."
    )
    with pytest.raises(UsageError) as refused:
        swept.save(tmp_path / "table.xls")
    assert str(refused.value) == (
        "A result is written as a table (csv, parquet, json) or a figure (pdf, svg, png), not as 'xls'."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_written_twice_to_the_same_bytes(swept, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plots is not installed")
    for name in ("a.svg", "b.svg", "a.pdf", "b.pdf", "a.png"):
        swept.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    text = (tmp_path / "a.svg").read_text()
    assert "max_ticks" in text
    assert "mean, 95 % interval over 2 seeds" in text


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is not None, reason="matplotlib is installed"
)
def test_a_figure_without_matplotlib_says_what_to_install(swept):
    with pytest.raises(UsageError) as refused:
        swept.plot()
    assert str(refused.value) == (
        "A figure needs the library matplotlib, which is not installed: pip install 'kinfolk[plots]'"
    )


def test_results_runs_and_replays_are_html_in_a_notebook(run, swept):
    assert ">max_ticks</td>" not in swept._repr_html_()
    assert ">max_ticks</th>" in swept._repr_html_()
    assert ">8 (8 to 8), n = 2</td>" in swept._repr_html_()
    assert repr(swept).splitlines()[1] == "  max_ticks = 4: 4 (4 to 4), n = 2"
    assert ">evaluate</td>" in run._repr_html_()
    assert "returns/all" in kf.evaluate(**EVALUATION)._repr_html_()
    page = run.show()._repr_html_()
    assert page.startswith('<iframe sandbox="allow-scripts" ')
    assert "game-00000" in page
    assert "<script" not in page, "the page is escaped within its attribute"


def test_polars_gets_columns_of_one_type_where_values_are_mixed(swept):
    polars = pytest.importorskip("polars")
    frame = swept.frame("polars")
    assert frame["max_ticks"].to_list() == [4, 4, 4, 4, 8, 8, 8, 8]
    mixed = {"number": [1, 2.5, None], "text": [None, "small", 3], "none": [None, None, None]}
    made = frames.make_frame(mixed, "polars")
    assert made["number"].to_list() == [1.0, 2.5, None]
    assert made["text"].to_list() == [None, "small", "3"]
    assert isinstance(made, polars.DataFrame)


def test_comparisons_and_round_robins_have_a_row_per_policy():
    everybody = {"grazer": "candidate", "hunter": "candidate"}
    short = {"world_settings": {"max_ticks": 6}, "episodes": 3}
    compared = kf.compare("kin://noop", "kin://random", agent_slot_map=everybody, **short)
    assert list(compared.columns()) == ["policy", "mean", "low", "high", "n"]
    assert compared.columns()["mean"] == [estimate.mean for estimate in compared.means]
    assert "3 common episodes" in compared._repr_html_()
    rated = kf.round_robin("kin://noop", "kin://random", **short)
    assert rated.columns()["policy"] == ["kin://noop", "kin://random"]
    assert rated.columns()["n_games"] == [3, 3]


def test_a_run_names_its_policies_as_uris_that_play(tmp_path):
    nets = {"population": 4, "generations": 1, "held_out_episodes": 2}
    run = kf.evolve_nets("probe", **nets, out=tmp_path / "nets").run
    assert run.policies == {
        name: f"run:{tmp_path / 'nets'}/{name}" for name in ("grazer", "hunter")
    }
    teams = {"agent_slot_map": {name: name for name in run.policies}}
    played = kf.evaluate(slots=run.policies, **teams, episodes=1, world_settings={"max_ticks": 4})
    assert played.failures == 0
    assert kf.evaluate(**EVALUATION).run is None


def test_roles_are_tables_in_a_notebook():
    catalog = kf.EvolutionaryRoleCoordinator(num_agents=2, rng=1).catalog
    page = catalog._repr_html_()
    assert f"{len(catalog.roles)} roles, {len(catalog.behaviors)} behaviors" in page
    assert ">BaseMiner</td>" in page
    assert "Role BaseMiner (manual): fitness 0, 0 games, 0 won" in catalog.roles[0]._repr_html_()


def test_a_notebook_shows_how_far_a_job_is(monkeypatch):
    display = pytest.importorskip("IPython.display")
    from kinfolk.api import progress

    shown = []

    class Handle:
        def update(self, page):
            shown.append(page.data)

    monkeypatch.setattr(progress, "_is_notebook", lambda: True)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(
        display, "display", lambda page, display_id: shown.append(page.data) or Handle()
    )
    kf.evaluate(**EVALUATION)
    assert shown[0] == '<progress value="0" max="3"></progress> Episodes: 0 of 3, starting'
    assert '<progress value="2" max="3"></progress> Episodes: 2 of 3, about 0 s left' in shown
    assert shown[-1] == '<progress value="3" max="3"></progress> Episodes: 3 of 3, done after 0 s'
    shown.clear()
    with pytest.raises(UsageError):
        kf.evaluate(slots={"all": "kin://nop"}, episodes=2)
    assert shown[-1].endswith("Episodes: 0 of 2, stopped after 0 s")
