"""Leagues of teams and of species: who joins, what is reported, engines, resuming, error messages."""

from contextlib import closing

import numpy as np
import pytest
from killed_runs import prove_resuming
from small_trainings import TWO, settings_of

import kinfolk as kf
from kinfolk.core.errors import UsageError
from kinfolk.core.events import FileChunk, Snapshot
from kinfolk.core.settings import merge_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.engines.processes import ProcessEngine
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.league.job import LeagueLoop
from kinfolk.jobs.train.league.learners import find_league_sides
from kinfolk.policies.build import build_policy
from kinfolk.testing.contracts.job import JobContract, event_lines
from kinfolk.testing.matrix_game import MatrixGameSettings

GAME = "class:kinfolk.testing.matrix_game.MatrixGame"
TEAMS = {
    "world": GAME, "slots": {"main": "kin://mlp?hidden=[4]"}, "league": True, "worlds": 8,
    "rollout_length": 2, "steps": 96, "checkpoint_every": 2,
    "ppo": {"minibatch_size": 16, "n_epochs": 1},
    "matchmaking": {"snapshot_every": 2, "exploiter_updates": 1, "payoff_games": 2},
}  # fmt: skip
SPECIES = merge_settings(TWO, {
    "league": True, "steps": 1500, "rollout_length": 32, "checkpoint_every": 1, "n_chunks": 2,
    "matchmaking": {"snapshot_every": 2, "exploiter_updates": 2, "league_exploiters": 1,
                    "min_episodes": 2, "payoff_games": 2},
})  # fmt: skip


def events_of(settings, engine=None):
    return event_lines(list(train(settings, engine or LocalEngine())))


def test_a_league_of_teams_begins_with_its_main_agent_and_adds_snapshots_of_all():
    items = list(train(settings_of(TEAMS), LocalEngine()))
    updates = [item for item in items if getattr(item, "kind", "") == "league_updated"]
    assert [update.joined for update in updates] == [
        {"main-0": "start"},
        {"main_exploiter-1": "budget"},
        {"main-2": "snapshot", "main_exploiter-2": "budget"},
        {"main_exploiter-3": "budget", "main-3": "end"},
    ]
    last = updates[-1]
    assert last.members == ["main-0", "main_exploiter-1", "main-2", "main_exploiter-2", "main-3",
                            "main_exploiter-3"]  # fmt: skip
    (table,), (mixture,) = last.payoffs, last.mixtures
    counts = [[cell and cell.n for cell in row] for row in table.cells]
    assert counts == [[None if i == j else 2 for j in range(6)] for i in range(6)]
    assert table.cells[0][1].mean == -table.cells[1][0].mean, "what one wins the other loses"
    assert sum(mixture.nash) == pytest.approx(1.0)
    assert [record.learner for record in last.win_rates] == ["main"] * len(last.win_rates)
    assert items[-1].step == 96, "rows of exploiters count as those of main agents"
    files = {item.path for item in items if isinstance(item, FileChunk)}
    assert {f"league/{name}.safetensors" for name in last.members} <= files
    assert "policies/main/best.safetensors" in files


def test_a_reset_exploiter_has_its_first_weights_and_a_new_optimiser():
    loop = LeagueLoop(settings_of(TEAMS), LocalEngine())
    first = loop.loops[1].state.weights()["main_exploiter"]
    list(loop.update())
    before = loop.loops[1].state.weights()["main_exploiter"]
    assert any(not np.array_equal(first[name], before[name]) for name in first)
    list(loop._join(loop._find_joining(False)))
    after = loop.loops[1].state.learners["main_exploiter"].state_dict()
    assert all(np.array_equal(first[name], after[f"weights/{name}"]) for name in first)
    assert not any(name.startswith("optimiser/") for name in after)


def test_teams_play_half_of_their_worlds_on_each_side():
    loop = LeagueLoop(settings_of(TEAMS), LocalEngine())
    maps = [plan.slot_map for plan in loop.loops[0]._plans]
    assert maps == [
        {"player_0": "main", "player_1": "opponents"},
        {"player_0": "opponents", "player_1": "main"},
    ]


def test_species_have_main_agents_and_exploiters_of_their_own():
    learners = find_league_sides(settings_of(SPECIES)).learners
    assert [(learner.name, learner.side) for learner in learners] == [
        ("herd", 0), ("herd_exploiter", 0), ("herd_league_exploiter", 0),
        ("pack", 1), ("pack_exploiter", 1), ("pack_league_exploiter", 1),
    ]  # fmt: skip


def test_a_trainer_of_a_league_is_iterated_and_has_no_single_rollout():
    with kf.Trainer(**TEAMS) as trainer:
        with pytest.raises(UsageError) as error:
            trainer.collect()
        kinds = [event.kind for event in trainer]
    assert str(error.value) == (
        "A league has several learners, each with rows of its own: iterate over the trainer, or call "
        "update()."
    )
    assert kinds[0] == "league_updated"
    assert kinds[-1] == "training_done"
    assert [member.name for member in trainer.league.members][:2] == ["main-0", "main_exploiter-1"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"league": False},
         "The settings of matchmaking are of a league: add league = true."),
        ({"patience": 3}, "A league cannot be combined with patience: leave one out."),
        ({"slots": {"rival": {"policy_uri": "kin://noop", "trainable": False}}},
         "A league trains one slot that plays either team, or one slot for each of two sides, all with "
         "nets of their own; the slots are main, rival."),
        ({"world": "probe"},
         "A league of one slot, main, is for worlds with two teams that it can play in turn; probe has "
         "grazer and hunter. Give a slot for each side, and --map GROUP=SLOT."),
        ({"worlds": 7},
         "7 worlds cannot be split into 2 equal chunks: a league of teams plays half of its worlds on "
         "each side."),
        ({"matchmaking": {"self_play": 1.5}},
         "Train.matchmaking.self_play must be at most 1.0, not 1.5."),
    ],
)  # fmt: skip
def test_wrong_leagues_are_refused_in_a_sentence(changes, sentence):
    with pytest.raises(UsageError) as error:
        find_league_sides(settings_of(TEAMS, **changes))
    assert str(error.value) == sentence


def test_a_map_that_divides_a_group_or_leaves_a_slot_idle_is_refused():
    divided = ["herd"] * 8 + ["pack"] * 8
    for slot_map, sentence in (
        (divided, "The sides of a league are whole groups; the slot map divides grazer. Write --map "
                  "grazer=SLOT."),
        ({"grazer": "herd"}, "Slot 'pack' plays nobody. Give it a group: --map GROUP=pack."),
    ):  # fmt: skip
        settings = settings_of({**SPECIES, "agent_slot_map": slot_map})
        with pytest.raises(UsageError) as error:
            find_league_sides(settings)
        assert str(error.value) == sentence


@pytest.mark.more
class TestTheLeagueJob(JobContract):
    """Predators and prey with exploiters of both kinds."""

    @pytest.fixture
    def start(self):
        settings = settings_of(SPECIES)
        return lambda resume: train(settings, LocalEngine(), resume)


@pytest.mark.more
def test_every_engine_trains_the_same_league():
    settings = settings_of(SPECIES)
    with closing(ProcessEngine(2)) as engine:
        assert events_of(settings, engine) == events_of(settings)


@pytest.mark.more
def test_a_league_that_is_killed_resumes_to_the_same_bytes(tmp_path):
    settings = settings_of(SPECIES, steps=4000)
    assert prove_resuming(tmp_path, "train", train, settings, 3) >= 2


def strategy(policy, spec):
    """Return the probabilities of rock, paper and scissors."""
    net = build_policy(policy, spec, batch_invariant=False)
    seen = np.zeros((1, spec.row_bytes), np.uint8)
    seen[0, :4] = np.ones(1, np.float32).view(np.uint8)
    logits, _, _ = net.evaluate(seen, np.zeros(1, np.int64), None)
    weights = np.exp(logits[0] - logits[0].max())
    return weights / weights.sum()


def play_game(**matchmaking):
    """Return the strategy of the main agent after each update, and that of the final mixture."""
    settings = settings_of({
        **TEAMS, "worlds": 64, "rollout_length": 4, "steps": 80 * 256, "stats_window": 500,
        "ppo": {"n_epochs": 4, "minibatch_size": 256, "learning_rate": 0.02, "ent_coef": 0.03,
                "gamma": 0.0},
        "matchmaking": matchmaking,
    })  # fmt: skip
    loop, courses = LeagueLoop(settings, LocalEngine()), []
    spec = settings.world_ref.spec
    for event in loop:
        if event.kind == "update_done":
            courses.append(strategy(loop.loops[0].state.policies()["main"], spec))
        elif event.kind == "league_updated":
            nash = np.array(event.mixtures[0].nash)
    members = np.array([strategy(loop._policy_of(member), spec) for member in loop.league.members])
    return np.array(courses), nash @ members


@pytest.mark.more
def test_the_mixture_of_a_league_nears_the_equilibrium_while_self_play_chases_its_tail():
    game = MatrixGameSettings()
    assert game.equilibrium.tolist() == [0.25, 0.5, 0.25]
    assert (game.payoffs @ game.equilibrium).max() == 0.0
    alone, _ = play_game(exploiters=0, self_play=1.0, snapshot_every=10, payoff_games=4)
    _, mixture = play_game(exploiters=1, self_play=0.5, snapshot_every=4, exploiter_updates=8,
                           payoff_games=8)  # fmt: skip
    favourites = alone.argmax(axis=1)
    assert set(favourites.tolist()) == {0, 1, 2}, "self-play favours each choice in turn"
    exploitability = (alone @ game.payoffs.T).max(axis=1)
    assert exploitability[40:].mean() > 0.5
    assert (game.payoffs @ mixture).max() < 0.25


def test_snapshots_of_a_league_hold_members_games_and_every_learner():
    items = list(train(settings_of(TEAMS), LocalEngine()))
    last = [item for item in items if isinstance(item, Snapshot)][-1]
    paths = {"/".join(path.split("/")[:2]) for path in last.arrays}
    assert {"league/games", "league/2", "league/7", "learner/0", "learner/1"} <= paths
    assert last.arrays["league/games"].shape == (2 * 15, 4), (
        "15 pairs of six members, two games each"
    )


@pytest.mark.more
@pytest.mark.train
def test_the_command_trains_a_league_and_says_how_to_exploit_it(tmp_path, capsys, monkeypatch):
    from kinfolk.cli.app import main

    monkeypatch.chdir(tmp_path)
    words = ["train", "--league", "--world", GAME, "--slot", "main=kin://mlp?hidden=[4]",
             "--worlds", "8", "--rollout-length", "2", "--steps", "64", "--out", "league",
             "--matchmaking.snapshot-every", "2", "--matchmaking.payoff-games", "2"]  # fmt: skip
    with pytest.raises(SystemExit) as left:
        main(words)
    said = capsys.readouterr()
    assert left.value.code == 0
    assert "Joined the league after 0 updates: main-0 (start); members: 1." in said.err
    assert "Mean score of row against column; 2 seeds each" in said.out
    assert "Nash mixture: main-" in said.out
    assert "measure their mixture: kinfolk exploit league" in said.out
