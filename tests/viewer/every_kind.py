"""A small run of every kind, for the tests that look at each of them in a browser."""

from importlib.resources import files

from kinfolk.core.events import FileChunk
from kinfolk.core.settings import validate_settings
from kinfolk.engines.base import LocalEngine
from kinfolk.jobs.compare import Compare, compare_policies
from kinfolk.jobs.crossplay import CrossPlay, crossplay
from kinfolk.jobs.evaluate import Evaluate, evaluate, evaluation_tasks
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.exploit.job import exploit
from kinfolk.jobs.exploit.settings import Exploit
from kinfolk.jobs.round_robin import RoundRobin, round_robin
from kinfolk.jobs.scenarios.job import evaluate_scenarios
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.jobs.studies.job import study
from kinfolk.jobs.studies.settings import Study
from kinfolk.jobs.sweeps.job import sweep
from kinfolk.jobs.sweeps.settings import Sweep
from kinfolk.jobs.tournament.job import tournament
from kinfolk.jobs.tournament.settings import Tournament
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.replay.reader import REPLAY_FOLDER, REPLAY_SUFFIX
from kinfolk.replay.record import record_replay, replay_name
from kinfolk.store.files import write_atomic
from kinfolk.store.run import create_run
from kinfolk.store.run_job import run_and_store
from kinfolk.store.run_list import TAGS_FILE
from kinfolk.viewer.tournament_page import PAGE_FILE, export_tournament_page

SLOTS = {
    "slots": {"hunters": "kin://hunter", "herd": "kin://grazer"},
    "agent_slot_map": {"type_1_predator": "hunters", "type_1_prey": "herd"},
}
SAVANNA = {"world": "savanna", "world_settings": {"max_steps": 80}}
HEAD_TO_HEAD = {"world": "cogsguard", "preset": "head_to_head", "world_settings": {"max_steps": 60}}

ROLES = {
    "preset": "tutorial", "world_settings": {"max_steps": 30, "agents": 4}, "generations": 4,
    "racing": (2,), "n_teams": 4, "survivors": 2, "population": 8, "finalists": 2,
    "finalist_games": 2, "eval_games": 4, "replay_every": 2,
}  # fmt: skip
ARCHIVE = {
    "archive": True,
    "quality_diversity": {"new_teams": 8, "games": 1, "confirmation_games": 1, "rechecked": 2,
                          "final_games": 2},
}  # fmt: skip
COEVOLUTION = {
    "preset": "head_to_head", "world_settings": {"max_steps": 30}, "coevolve": 2, "generations": 2,
    "coevolution": {"hall_every": 1, "payoff_games": 2, "best_response_generations": 1},
}  # fmt: skip
TRAINING = {
    "world": "probe", "worlds": 4, "rollout_length": 16, "steps": 2000,
    "ppo": {"minibatch_size": 64, "n_epochs": 2},
}  # fmt: skip
LEAGUE = {
    "league": True, "slots": {"herd": "kin://mlp?hidden=[8]", "pack": "kin://mlp?hidden=[8]"},
    "agent_slot_map": {"grazer": "herd", "hunter": "pack"},
    "matchmaking": {"snapshot_every": 2, "payoff_games": 2},
}  # fmt: skip
RESPONSE = {
    **TRAINING, "steps": 500, "episodes": 4,
    "policies": {"grazer": {"still": "kin://noop"}, "hunter": {"chance": "kin://random"}},
}  # fmt: skip
PLAN = (
    (files("kinfolk.cli") / "templates/study/plan.toml.txt").read_text().replace("$title", "quick")
)
POLICIES = ["kin://smart", "kin://random", "kin://noop"]
FAILING = "class:kinfolk.policies.failing.FailingPolicy?after=5"
SCENARIOS = """
[scenarios.grazers_stay]
about = "grazers before idle hunters"
world = "probe"
world_settings = { max_ticks = 20 }
mode = "resident"
players = { grazer = { focal = 5 }, hunter = { idle = 3 } }
seed = 3
floor = 0.0
ceiling = 2.0
"""
NETS = {"population": 8, "generations": 5, "hidden": (4,), "held_out_episodes": 3,
        "held_out_every": 2}  # fmt: skip
CANDIDATES = {**HEAD_TO_HEAD, "episodes": 4, "slots": {"rest": "kin://random"},
              "agent_slot_map": {"cogs_0": "candidate", "cogs_1": "rest"}}  # fmt: skip
MEETING = {**HEAD_TO_HEAD, "games": 2, "isolate": "none", "sandbox": False,
           "policies": {"smart": "kin://smart", "random": "kin://random", "failing": FAILING}}  # fmt: skip

# By the name of the run: the name of its job, the function, its settings class, and settings.
KINDS = {
    "eval-savanna": ("evaluate", evaluate, Evaluate,
                     {**SAVANNA, **SLOTS, "episodes": 6, "replays": 1}),
    "eval-cogs": ("evaluate", evaluate, Evaluate,
                  {**HEAD_TO_HEAD, "slots": {"smart": "kin://smart", "chance": "kin://random"},
                   "agent_slot_map": {"cogs_0": "smart", "cogs_1": "chance"}, "episodes": 3,
                   "replays": 1}),
    "scenarios": ("scenarios", evaluate_scenarios, EvaluateScenarios,
                  {"policies": {"all": "kin://random"}, "scenario_file": "scenarios.toml",
                   "episodes": 4}),
    "compare-two": ("compare", compare_policies, Compare, {**CANDIDATES, "policies": POLICIES[:2], "replays": 1}),
    "compare-three": ("compare", compare_policies, Compare, {**CANDIDATES, "policies": POLICIES}),
    "round-robin": ("round_robin", round_robin, RoundRobin,
                    {**HEAD_TO_HEAD, "policies": POLICIES, "episodes": 2}),
    "tournament": ("tournament", tournament, Tournament, {**MEETING, "replays": 1}),
    "crossplay": ("crossplay", crossplay, CrossPlay, MEETING),
    "roles": ("evolve_roles", evolve_roles, EvolveRoles, ROLES),
    "roles-archive": ("evolve_roles", evolve_roles, EvolveRoles, {**ROLES, **ARCHIVE}),
    "roles-coevolved": ("evolve_roles", evolve_roles, EvolveRoles, {**ROLES, **COEVOLUTION}),
    "nets": ("evolve_nets", evolve_nets, EvolveNets, NETS),
    "train": ("train", train, Train, TRAINING),
    "train-league": ("train", train, Train, {**TRAINING, **LEAGUE}),
    "exploit": ("exploit", exploit, Exploit, RESPONSE),
    "sweep-eval": ("sweep", sweep, Sweep,
                   {"job": "eval", "seeds": (0, 1, 2), "vary": {"max_ticks": (10, 20, 30)},
                    "settings": {"world": "probe", "episodes": 3}}),
    "sweep-train": ("sweep", sweep, Sweep,
                    {"job": "train", "seeds": (0, 1), "settings": TRAINING,
                     "vary": {"ppo.learning_rate": (0.001, 0.01)}}),
    "study": ("study", study, Study, {"name": "growth", "text": PLAN, "quick": True}),
}  # fmt: skip


def make_runs(root, names=tuple(KINDS)):
    """Make the named runs in a folder; they take about half a minute together."""
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        job, function, settings_type, values = KINDS[name]
        if "scenario_file" in values:
            table = root.parent / values["scenario_file"]
            table.write_text(SCENARIOS)
            values = {**values, "scenario_file": str(table)}
        settings = validate_settings(settings_type, values)
        run = create_run(root / name, job, settings.model_dump())
        for _ in run_and_store(
            run, lambda snapshot, f=function, s=settings: f(s, LocalEngine(), snapshot)
        ):
            pass
        if job in ("tournament", "crossplay"):
            write_atomic(run.folder / PAGE_FILE, export_tournament_page(run.folder))
    (root / names[0] / TAGS_FILE).write_text("baseline first")
    _record_game(root / "play")


def _record_game(folder):
    """Make a run as `kinfolk play --record` does: one game, and no event."""
    settings = validate_settings(Evaluate, {**SAVANNA, **SLOTS, "episodes": 1})
    run = create_run(folder, "play", settings.model_dump(exclude={"episodes"}))
    run.open_for_writing()
    data = b"".join(record_replay(next(evaluation_tasks(settings)), 0))
    path = f"{REPLAY_FOLDER}/{replay_name(0)}{REPLAY_SUFFIX}"
    run.write_file_chunk(FileChunk(path=path, data=data, append=False))
    run.finish()
