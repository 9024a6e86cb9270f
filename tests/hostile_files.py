"""Files of a stranger that name code in every field which can: runs, policies, plans and others.

The code is `stranger_code.py`, which leaves a file `marker` beside it whenever any process imports it.
"""

import json
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template

import kinfolk as kf
from kinfolk.jobs.reruns import STORED_JOBS
from kinfolk.play.task import EpisodeRunner, RolloutTask, WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.replay.record import record_ticks
from kinfolk.store.arrays import PolicyFile, write_policy
from kinfolk.store.event_log import COMPRESSED_EVENTS_FILE
from kinfolk.store.settings_file import write_run_settings

MODULE = "stranger_code"
CODE = """
from pathlib import Path
Path(__file__).with_name("marker").write_text("imported")
import gymnasium
from kinfolk.policies.base import NoopPolicy as Policy
from kinfolk.testing.probe.world import ProbeWorld as World
from gymnasium.envs.classic_control import CartPoleEnv as Env
def net(*_, **__): raise ValueError("a net")
Transform = make_catalog = loss = Log = net
"""
WORLDS = (f"class:{MODULE}.World", f"gym:{MODULE}:Env", f"gym:{MODULE}:Env-v0")
_NEURAL = "kinfolk.policies.neural.architectures"
_ROLES = "kinfolk.policies.scripted.cogsguard.evolved_roles:RolePolicyFactory"
_POLICY_FILES = [
    (f"{MODULE}.Policy", {}),
    (f"{MODULE}:Policy", {}),
    ("{folder}/stranger_code.py:Policy", {}),
    ("kinfolk.policies.stranger.py.Policy", {}),  # the file kinfolk.policies.stranger.py
    (f"{_NEURAL}:CustomNetPolicy", {"module": f"{MODULE}.net"}),
    (f"{_NEURAL}:MlpPolicy", {"transform": f"{MODULE}.Transform"}),
    (_ROLES, {"catalog": f"{MODULE}.make_catalog"}),
    ("kinfolk.core.imports:import_own", {}),
    ("kinfolk.cli.app:main", {}),
    ("kinfolk.isolation.subprocess_policy:SubprocessPolicy", {}),
]
_HISTORY = {
    "format": 3, "sha256": None, "generation": 0, "seed": 0, "games": 0, "nextNameId": 1, "roles": [],
    "behaviors": [{"name": f"{MODULE}:make_catalog", "fitness": 0.5, "games": 0, "uses": 0}],
}  # fmt: skip
_SHORT = (0, 2, 4, 7)  # numbers of files that stand for the others
_PLAN = Template((files("kinfolk.cli") / "templates/study/plan.toml.txt").read_text()).substitute(
    title="tiny"
)
_SCENARIO = """
[backgrounds.theirs]
about = "a stranger's"
policy = "{policy}"
[scenarios.mine]
about = "a hunter among others"
world = "{world}"
mode = "visitor"
players = {{ grazer = {{ theirs = 5 }}, hunter = {{ focal = 1, theirs = 2 }} }}
seed = 7
floor = 1.0
ceiling = 3.0
"""
_WORLD = {"world": "probe", "world_settings": {"max_ticks": 3}}
_EPISODES = {**_WORLD, "episodes": 2}
_TWO = {"a": "kin://noop", "b": "kin://noop"}
# Settings of a run of each job, to be changed.
_SETTINGS = {
    "evaluate": {**_EPISODES, "slots": {"all": "kin://noop"}},
    "compare": {**_EPISODES, "policies": ["kin://noop", "kin://noop"],
                "agent_slot_map": {"grazer": "candidate", "hunter": "candidate"}},
    "round_robin": {**_EPISODES, "policies": ["kin://noop", "kin://noop"]},
    "tournament": {**_WORLD, "policies": _TWO, "games": 1, "isolate": "none", "sandbox": False},
    "crossplay": {**_WORLD, "policies": _TWO, "games": 1, "isolate": "none", "sandbox": False},
    "scenarios": {"policies": {"all": "kin://noop"}, "scenarios": ["mine"], "episodes": 2},
    "train": {**_WORLD, "steps": 100, "slots": {"all": "kin://mlp"}},
    "exploit": {**_WORLD, "policies": {"a": "kin://noop"}, "steps": 100},
    "evolve_roles": {"generations": 1, "population": 4, "games_per_generation": 2},
    "evolve_nets": {"task": "probe", "population": 4, "generations": 1},
    "sweep": {"job": "eval", "settings": {**_EPISODES, "slots": {"all": "kin://noop"}},
              "vary": {"world_settings.growth": [0.1]}},
}  # fmt: skip


def write_hostile_files(folder: Path, is_short: bool) -> None:
    """Write policies, histories, replays, plans, scenarios and runs of all jobs into a folder.

    Args:
        folder: Folder to write into.
        is_short: Whether a single file for each field that can name code is enough.
    """
    kf.evaluate("probe", world_settings={"max_ticks": 3}, episodes=2, out=folder / "true")
    for name in ("stranger_code.py", "kinfolk.policies.stranger.py"):
        (folder / name).write_text(CODE)
    for number, (class_path, settings) in enumerate(_POLICY_FILES):
        if is_short and number not in _SHORT:
            continue
        path = class_path.replace("{folder}", str(folder))
        write_policy(folder / f"policy-{number}.safetensors", PolicyFile(path, settings, {}))
    (folder / "history.json").write_text(json.dumps(_HISTORY))
    with_catalog = _HISTORY | {"catalog": f"{MODULE}.make_catalog"}
    (folder / "history-catalog.json").write_text(json.dumps(with_catalog))
    policies = list_policies(folder)
    for number, policy in enumerate(policies[:1] if is_short else policies):
        (folder / f"scenario-p{number}.toml").write_text(
            _SCENARIO.format(policy=policy, world="probe")
        )
    for number, world in enumerate(WORLDS[:1] if is_short else WORLDS):
        text = _SCENARIO.format(policy="kin://noop", world=world)
        (folder / f"scenario-w{number}.toml").write_text(text)
    (folder / "own.toml").write_text(_SCENARIO.format(policy="kin://noop", world="probe"))
    plans = _list_plans(folder)
    for number, text in enumerate(plans[:: len(WORLDS)] if is_short else plans):
        (folder / f"plan-{number}.toml").write_text(text)
    for job, changes in list_changes(folder).items():
        if is_short:
            changes = list({tuple(change): change for change in reversed(changes)}.values())
        for number, change in enumerate(changes):
            settings = {**_SETTINGS.get(job, {}), **change}
            for is_done in (True, False):
                name = f"{job}-{number}-{'done' if is_done else 'stopped'}"
                _write_run(folder / name, job, settings, is_done)


def list_policies(folder: Path) -> list[str]:
    """Return URIs that a stranger may write where a policy is named."""
    uris = [
        f"class:{MODULE}.Policy",
        f"class:{MODULE}:Policy",
        f"file:{folder}/stranger_code.py:Policy",
    ]
    uris += [f"kin://net?module={MODULE}.net", f"kin://mlp?transform={MODULE}.Transform"]
    uris += [f"kin://roles?catalog={MODULE}.make_catalog"]
    return uris + [f"file:{path}" for path in list_policy_files(folder)]


def list_policy_files(folder: Path) -> list[Path]:
    """Return the policy files of a stranger."""
    return sorted(folder.glob("policy-*.safetensors"))


def list_changes(folder: Path) -> dict[str, list[dict[str, object]]]:
    """Return settings that name code, by job; each run has one of them."""
    policies, worlds = list_policies(folder), [{"world": world} for world in WORLDS]
    slots: list[dict[str, object]] = [{"slots": {"all": uri}} for uri in policies]
    slots.append({"slots": {"all": {"class_path": f"{MODULE}.Policy"}}})
    pairs = [{"policies": ["kin://noop", uri]} for uri in policies]
    tables = [{"policies": {"a": "kin://noop", "b": uri}} for uri in policies]
    isolated = [{**change, "isolate": "slot"} for change in (*slots, *tables)]
    study_texts = [{"name": "tiny", "text": text} for text in _list_plans(folder)]
    scenario_files = [str(path) for path in sorted(folder.glob("scenario-*.toml"))]
    return {
        "play": [*worlds, *slots],
        "evaluate": [*worlds, *slots, *isolated[: len(slots)]],
        "compare": [*worlds, *pairs, {"slots": {"others": policies[0]}}],
        "round_robin": [*worlds, *pairs],
        "tournament": [*worlds, *tables, *isolated[len(slots) :]],
        "crossplay": [*worlds, *tables],
        "scenarios": [{"scenario_file": file} for file in scenario_files]
        + [{"scenario_file": str(folder / "own.toml"), "policies": {"all": uri}} for uri in policies],
        "train": [*worlds, *slots, {"loss_profiles": {"all": [f"{MODULE}.loss"]}},
                  {"loss_profiles": {"all": [f"{MODULE}:loss"]}}],
        "exploit": [*worlds, *({"policies": {"a": uri}} for uri in policies),
                    {"net": policies[3]}, {"net": policies[4]}],
        "evolve_roles": [*worlds, {"catalog": f"{MODULE}.make_catalog"}],
        "evolve_nets": [*({"task": world} for world in WORLDS),
                        *({"fixed": {"grazer": uri}} for uri in policies),
                        *({"imitate": uri, "fixed": {"hunter": "kin://noop"}} for uri in policies),
                        *({"held_out_opponents": {"grazer": uri}} for uri in policies)],
        "sweep": [{"settings": {**_EPISODES, **change}} for change in (*worlds, *slots)],
        "study": study_texts,
    }  # fmt: skip


def _list_plans(folder: Path) -> list[str]:
    """Return plans of studies that name code."""
    world, policy = 'world = "probe"', '"kin://random"'
    plans = [_PLAN.replace(world, f'world = "{name}"') for name in WORLDS]
    plans += [_PLAN.replace(policy, f'"{uri}"') for uri in list_policies(folder)]
    plans += [_PLAN.replace(policy, f'{{ class_path = "{MODULE}.Policy" }}')]
    stage = "[stages.play.settings]"
    plans += [_PLAN.replace(stage, f'logs = ["{MODULE}.Log"]\n{stage}')]
    for plan in plans:
        assert plan != _PLAN
    return plans


def _write_run(folder: Path, job: str, settings: dict[str, object], is_done: bool) -> None:
    """Write a run with the events of an evaluation, and with a policy and a replay of a stranger."""
    folder.mkdir()
    write_run_settings(folder, job, settings)
    if is_done:
        shutil.copy(folder.parent / "true" / COMPRESSED_EVENTS_FILE, folder)
    write_policy(
        folder / "policies" / "all" / "best.safetensors", PolicyFile(f"{MODULE}.Policy", {}, {})
    )
    history = (folder.parent / "history.json").read_text()
    (folder / "role_history.json").write_text(history)
    if job == "play":
        header = {**settings, "catalog": f"{MODULE}.make_catalog", "episode": 0}
        (folder / "replays").mkdir()
        (folder / "replays" / "game-00000.replay").write_bytes(_record(header))


def _record(header: dict[str, object]) -> bytes:
    """Return the replay of a short game whose header says something else."""
    world = WorldRef("probe", settings={"max_ticks": 2})
    runner = EpisodeRunner(RolloutTask[None](world, {"all": resolve("kin://noop")}, 0, range(1)))
    return b"".join(chunk for _, chunk in record_ticks(runner, header))


assert {*_SETTINGS, "study"} == {*STORED_JOBS}
