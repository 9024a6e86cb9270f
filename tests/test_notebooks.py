"""The notebooks run from top to bottom in a kernel of their own, and show what they say."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parent.parent / "examples" / "notebooks"
pytestmark = pytest.mark.timeout(1800)  # a kernel of its own, and trainings
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def execute(name, folder, expression="None"):
    """Execute a notebook in a folder; return it, and the value of an expression at its end."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    question = f"import json; print(json.dumps({expression}))"
    notebook.cells.append(nbformat.v4.new_code_cell(question))
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=900, resources=resources).execute()
    answer = notebook.cells.pop().outputs[0]["text"]
    return notebook, json.loads(answer)


def shown(notebook, kind="text/html"):
    """Return what the cells show of a kind, in order; a progress bar once, as it ended."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def printed(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output["text"] for output in outputs if output["output_type"] == "stream")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_without_outputs_which_could_be_out_of_date(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


@pytest.mark.more
def test_first_steps_show_tables_figures_a_replay_and_the_runs(tmp_path):
    notebook, better = execute("first_steps", tmp_path, "pair.better")
    pages = shown(notebook)
    assert better == "first"
    assert '<progress value="12" max="12"></progress> Episodes: 12 of 12, done after ' in pages[0]
    assert ">EvaluationResult</caption>" in pages[1]
    assert any(page.startswith('<iframe sandbox="allow-scripts"') for page in pages)
    assert any(">4 roles, " in page for page in pages)
    assert ">compared</td>" in pages[-1]
    assert len(shown(notebook, "image/png")) == 2
    assert "prey are alive (" in printed(notebook)


@pytest.mark.more
def test_the_capture_margin_changes_cooperation(tmp_path):
    notebook, means = execute("capture_margin", tmp_path, "[e.mean for e in result.estimates]")
    assert means == sorted(means)
    assert means[-1] > 0.9
    lines = (tmp_path / "margin.csv").read_text().splitlines()
    assert lines[0].startswith("team_capture_margin,seed,episode,")
    assert len(lines) == 1 + 5 * 10 * 2
    assert (tmp_path / "margin.pdf").read_bytes().startswith(b"%PDF")
    assert len(shown(notebook, "image/png")) == 2
    assert "p-value: 0.00" in printed(notebook)


@pytest.mark.more
@pytest.mark.train
def test_policies_and_worlds_of_a_cell_play_and_their_failures_show_the_cells_line(tmp_path):
    length = 'kf.load_run("runs/walk-0").plot() and len(trained)'
    notebook, trained = execute("own_policy_and_world", tmp_path, length)
    text = printed(notebook)
    assert trained == 3
    assert "act_async raised IndexError: list index out of range\n    Cell In[2]:4 in step" in text
    assert "SettingsError: The policy object:local/PatientTeam-" in text
    assert len(shown(notebook, "image/png")) == 1
    assert any(
        "TorchPrey-4 is higher in mean_lifetime_prey than kin://random: by " in page
        for page in shown(notebook)
    )


@pytest.mark.more
def test_evolved_roles_beat_the_seeded_team(tmp_path):
    question = "[result.difference['seeded'].low, pair.failures]"
    notebook, (low, failures) = execute("evolve_roles", tmp_path, question)
    assert low > 0
    assert failures == [0, 0]
    assert len(shown(notebook, "image/png")) == 2
    assert "without its mix " in printed(notebook)


@pytest.mark.more
def test_a_behavior_of_a_file_keeps_agents_from_hp_0_and_a_mistake_in_it_is_named(tmp_path):
    question = "[estimate.mean for estimate in at_zero.means]"
    notebook, ticks = execute("own_behavior", tmp_path, question)
    assert ticks[-1] < ticks[0] / 5
    assert "broken.py" in printed(notebook)
    assert len(shown(notebook, "image/png")) == 1


@pytest.mark.more
@pytest.mark.train
def test_both_species_learn_to_earn_more_than_random_ones(tmp_path):
    pairs = [("trained", "random", "grazers"), ("random", "trained", "hunters")]
    question = f"[played[a, b].returns[slot].mean for a, b, slot in {pairs}]"
    question += " + [e.mean for e in played['random', 'random'].returns.values()]"
    notebook, earned = execute("train_two_species", tmp_path, question)
    assert earned[0] > earned[2]
    assert earned[1] > earned[3]
    assert len(shown(notebook, "image/png")) == 2


@pytest.mark.more
@pytest.mark.train
def test_a_ppo_loss_of_15_lines_learns_cartpole(tmp_path):
    _, scores = execute("own_ppo_loss", tmp_path, "scores")
    assert scores[-1] > 2 * scores[0]


@pytest.mark.more
@pytest.mark.train
def test_a_student_comes_to_agree_with_its_teacher(tmp_path):
    question = (
        '[agreement, sorted(set(rows["slot_id"].tolist())), bool(rows["is_trainable_agent"].any())]'
    )
    _, (agreement, slots, trainable) = execute("student_and_teacher", tmp_path, question)
    assert agreement[-1] > agreement[0] + 0.1
    assert (slots, trainable) == ([1], False)


@pytest.mark.more
def test_a_family_is_read_from_the_tree_of_a_stored_episode(tmp_path):
    question = "[len(family), len(rows), len(family.founders()), lineage.max_depth(family)]"
    notebook, (members, rows, founders, depth) = execute("read_a_lineage", tmp_path, question)
    assert members == rows > founders == 20
    assert depth > 1
    assert len(shown(notebook, "image/png")) == 1


@pytest.mark.more
def test_a_competition_names_the_submission_that_fails_and_writes_its_page(tmp_path):
    question = "[s.name for s in result.standings if s.failures]"
    notebook, failed = execute("run_a_competition", tmp_path, question)
    assert failed == ["broken"]
    text = printed(notebook)
    assert "broken.py:12 in act_async: self.actions[0, 99] = 1" in text
    assert "tournament.html " in text


@pytest.mark.more
@pytest.mark.train
def test_a_league_is_less_exploitable_than_the_last_net_of_self_play(tmp_path):
    leads = '[r.exploitability[""].mean for r in (of_league, of_last)]'
    notebook, (of_league, of_last) = execute("league", tmp_path, leads)
    assert of_league < of_last
    assert len(shown(notebook, "image/png")) == 1
    assert "self-play: a best response of 2,560 rows leads by " in printed(notebook)
