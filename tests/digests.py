"""Record digests of everything kinfolk computes, to prove that a change of form changed nothing.

    python tests/digests.py --out before.json        # then change names, folders, fields
    python tests/digests.py --out after.json
    python tests/digests.py --compare before.json after.json

A digest covers the numbers of one field of one kind of event or file. Two recordings are compared in
what both have: a field under a new name is found by its digest, and an added one is no difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.core.events import Event, FileChunk, Snapshot, TimingEvent
from kinfolk.core.settings import validate_settings
from kinfolk.engines import make_engine
from kinfolk.jobs.evaluate import Evaluate, evaluate
from kinfolk.jobs.evolve_nets.job import evolve_nets
from kinfolk.jobs.evolve_nets.settings import EvolveNets
from kinfolk.jobs.evolve_roles.job import evolve_roles
from kinfolk.jobs.evolve_roles.settings import EvolveRoles
from kinfolk.jobs.train.job import train
from kinfolk.jobs.train.settings import Train
from kinfolk.replay.codec import FRAMES
from kinfolk.replay.reader import Replay
from kinfolk.worlds.savanna.io.golden_trace import parse_trace, replay_golden_trace

GOLDEN = Path(__file__).resolve().parents[2] / "shared" / "golden"
SAVANNA = {
    "world": "savanna",
    "preset": "shared_prey_r2",
    "slots": {"pack": "kin://hunter", "herd": "kin://grazer"},
    "agent_slot_map": {"type_1_predator": "pack", "type_1_prey": "herd"},
    "world_settings": {"max_steps": 60},
}
COGSGUARD = {
    "world": "cogsguard",
    "slots": {"main": "kin://roles?miner=3&scout=1&aligner=2&scrambler=2"},
    "world_settings": {"max_steps": 120},
}
ROLES = {"generations": 5, "racing": (2, 2), "n_teams": 8, "survivors": 3, "finalists": 3,
         "finalist_games": 8, "eval_games": 16, "replay_every": 2,
         "world_settings": {"max_steps": 200}}  # fmt: skip
NETS = {"population": 16, "generations": 4, "held_out_episodes": 10}
PREDATION = {"world": "savanna", "preset": "shared_prey_trained", "worlds": 8, "rollout_length": 32,
             "world_settings": {"observation": "compact"},
             "agent_slot_map": {"type_1_predator": "predators", "type_1_prey": "prey"}}  # fmt: skip
LEARNING = {"n_epochs": 2, "minibatch_size": 512}


def leaves(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Yield every number in nested plain values, as its field and its text with all digits."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{field}.{name}")
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from leaves(item, field)
    elif isinstance(value, np.ndarray):
        yield field, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    elif isinstance(value, np.generic):
        yield from leaves(value.item(), field)
    elif isinstance(value, bool | int | float):
        yield field, repr(float(value))


class Digests:
    """Sorted multisets of numbers by field, hashed at the end."""

    def __init__(self) -> None:
        self._fields: dict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, value: Any) -> None:
        """Take the numbers in `value` into the digests of its fields."""
        for field, number in leaves(value, kind):
            self._fields[field].append(number)

    def result(self) -> dict[str, str]:
        """Return `field: hash (count of numbers)`."""
        return {
            field: hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16]
            + f" ({len(found)})"
            for field, found in sorted(self._fields.items())
        }


def job_digests(items: Iterable[Event | Snapshot | FileChunk]) -> dict[str, str]:
    """Digest what a job yields: events by kind, snapshots' arrays, files by suffix."""
    digests, files = Digests(), defaultdict(bytes)
    for item in items:
        if isinstance(item, TimingEvent):
            continue
        if isinstance(item, Event):
            digests.add(item.kind, json.loads(item.to_json_line()))
        elif isinstance(item, Snapshot):
            for name, array in item.arrays.items():
                digests.add(f"snapshot.{name}", decode_text(array))
        else:
            files[item.path] = (files[item.path] if item.append else b"") + item.data
    for name, data in files.items():
        digests.add(f"file {Path(name).suffix}", file_numbers(name, data))
    return digests.result()


def decode_text(array: np.ndarray) -> Any:
    """Return the document that bytes hold as JSON text, whose keys may be renamed, else the array."""
    if array.dtype == np.uint8 and array.tobytes()[:1] in (b"{", b"["):
        try:
            return json.loads(array.tobytes())
        except ValueError:
            return array
    return array


def file_numbers(name: str, data: bytes) -> Any:
    """Return the numbers of a file of a run."""
    if name.endswith(".safetensors"):
        from safetensors.numpy import load

        return load(data)
    if name.endswith(".json"):
        return json.loads(data)
    if name.endswith(".replay"):
        return replay_numbers(data)
    return len(data)


def replay_numbers(data: bytes) -> Any:
    """Return every frame of a replay, as arrays, and its events' numbers."""
    with tempfile.NamedTemporaryFile(suffix=".replay") as file:
        file.write(data)
        file.flush()
        replay = Replay(Path(file.name))
        return [
            {"columns": replay.columns(index), "events": replay.events(index),
             "series": replay.series(index)[0]}
            for index in range(len(replay.records[FRAMES]))
        ]  # fmt: skip


def golden() -> dict[str, str]:
    """Replay every golden trace of the savanna; `equal`, or where it differs."""
    results = {}
    for path in sorted((GOLDEN / "savanna").glob("*.json.gz")):
        result = replay_golden_trace(parse_trace(path.read_bytes()))
        results[path.name] = f"{result.difference or 'equal'} ({result.n_values})"
    return results


def run(
    job: Callable[..., Any], settings: Any, values: dict[str, Any], engine: str = "local"
) -> Any:
    """Digest one job on one engine."""
    workers = make_engine(engine, 1 if engine == "local" else 2)
    try:
        return job_digests(job(validate_settings(settings, values), workers))
    finally:
        workers.close()


def evaluations() -> Iterator[tuple[str, Callable[[], dict[str, str]]]]:
    """Both worlds on every engine and isolation."""
    for name, world in (("savanna", SAVANNA), ("cogsguard", COGSGUARD)):
        for engine in ("local", "processes", "ray"):
            for isolate in ("none", "slot", "agent"):
                values = {**world, "episodes": 4, "chunk_size": 2, "isolate": isolate, "seed": 11,
                          "step_timeout": 30.0, "replays": int(engine == "local")}  # fmt: skip
                yield (
                    f"eval {name} {engine} {isolate}",
                    lambda v=values, e=engine: run(evaluate, Evaluate, v, e),
                )


def cases() -> Iterator[tuple[str, Callable[[], dict[str, str]]]]:
    """Yield the name of each case and how to run it."""
    yield "golden", golden
    yield from evaluations()
    for trigger in ("cadence", "temple"):
        values = {**ROLES, "trigger": trigger}
        yield f"roles {trigger}", lambda v=values: run(evolve_roles, EvolveRoles, v)
    kinds = {
        "ga": {},
        "ga recurrent": {"net": "recurrent"},
        "openai-es": {"algorithm": "openai-es"},
        "sep-cma": {"algorithm": "sep-cma"},
        "dynamic": {"net": "dynamic"},
        "inherit all": {"net": "dynamic", "inherit": ["env", "mem", "fit"], "steps": 50},
    }
    for name, values in kinds.items():
        yield f"nets {name}", lambda v={**NETS, **values}: run(evolve_nets, EvolveNets, v)
    rows = 3 * PREDATION["worlds"] * PREDATION["rollout_length"]
    teacher = {"slots": {"predators": "kin://mlp",
                         "prey": {"policy_uri": "kin://grazer", "trainable": False}},
               "teachers": {"predators": {"teacher": "hunters", "teacher_led": False}},
               "ppo": LEARNING}  # fmt: skip
    teacher["slots"]["hunters"] = {"policy_uri": "kin://hunter", "trainable": False}
    plain = {"slots": {"predators": "kin://mlp", "prey": "kin://gru"}, "ppo": LEARNING}
    pool = {"world": "cogsguard", "preset": "head_to_head", "worlds": 4, "rollout_length": 32,
            "slots": {"main": "kin://conv",
                      "rival": {"policy_uri": "kin://conv", "trainable": False}},
            "agent_slot_map": {"cogs_0": "main", "cogs_1": "rival"},
            "opponent_pool": {"slot": "rival", "source_slot": "main", "add_every": 1, "max_size": 2,
                              "sampling": "win_rate"},
            "ppo": LEARNING, "steps": 1500}  # fmt: skip
    for name, values in {
        "plain": {**PREDATION, **plain, "steps": 10 * rows},
        "teacher": {**PREDATION, **teacher, "steps": rows},
        "pool": pool,
    }.items():
        yield f"train {name}", lambda v=values: run(train, Train, v)


def compare(before: Path, after: Path) -> int:
    """Print what differs between two recordings; 1 if a number changed or is gone."""
    old, new = (json.loads(path.read_text()) for path in (before, after))
    n_differences = 0
    for case in sorted({*old, *new}):
        differences, added = compare_case(old.get(case, {}), new.get(case, {}))
        n_differences += len(differences)
        verdict = "DIFFERS" if differences else "equal  "
        print(f"{verdict} {case} ({len(old.get(case, {}))} digests)")
        for line in [*differences, *added]:
            print(f"        {line}")
    return int(n_differences > 0)


def compare_case(old: dict[str, str], new: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return how the digests of a case differ, and what was added to it, as lines to print."""
    differences = []
    unmatched = {field: digest for field, digest in new.items() if field not in old}
    for field, digest in old.items():
        if field in new:
            if digest != new[field]:
                differences.append(f"{field}: {digest} -> {new[field]}")
            continue
        new_name = next((name for name, other in unmatched.items() if other == digest), None)
        if new_name is None:
            differences.append(f"{field}: {digest} -> gone")
        else:
            del unmatched[new_name]
    return differences, [f"{field}: added" for field in unmatched]


def main() -> int:
    """Record, or compare two recordings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="", help="regular expression over the names of cases")
    parser.add_argument("--compare", nargs=2, type=Path)
    asked = parser.parse_args()
    if asked.compare:
        return compare(*asked.compare)
    results: dict[str, dict[str, str]] = {}
    for name, make in cases():
        if re.search(asked.only, name):
            results[name] = make()
            print(f"{name}: {len(results[name])} digests", file=sys.stderr, flush=True)
            if asked.out:
                asked.out.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
