"""Plays attacks as this process's user and reports what came of each, as lines of JSON.

Reads names of attacks (`module.Class`) from its standard input, one per line. Interpreters start
slowly, so one runner plays many attacks.
"""

import argparse
import contextlib
import importlib
import json
import os
import shutil
import site
import sys
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from canaries import Canaries  # noqa: E402
from leftovers import adopt_orphans, end_processes, system_state, wait_until_alone  # noqa: E402

from kinfolk.core.temporary_folder import remove_tree  # noqa: E402
from kinfolk.core.trust import trust_files  # noqa: E402
from kinfolk.evaluation.rollout import Isolation, evaluation_task, run_evaluation  # noqa: E402
from kinfolk.isolation.failures import IsolationSettings  # noqa: E402
from kinfolk.isolation.worker_pool import close_pools  # noqa: E402
from kinfolk.play.task import WorldRef  # noqa: E402
from kinfolk.policies.resolve import resolve  # noqa: E402
from kinfolk.store.arrays import PolicyFile, write_policy  # noqa: E402

# Agents 0 to 2 are the rival's, 3 attacks, 4 is its mate; nobody is born or dies early.
RULES = {"grazers": 3, "hunters": 2, "rows": 5, "max_ticks": 8, "max_age": 99, "start_energy": 99}
SLOT_MAP = {"grazer": "rival", "hunter": "attacker"}
SEED = 88_172_645_463_325_252
ATTACKER_UID, SLOT_UIDS = 3, {3, 4, -1}
USUAL = {"step_timeout": 5.0, "start_timeout": 30.0, "memory_limit": 1024}
_SECONDS_TO_END = 30.0  # for processes of a sandbox on a busy machine
TIMEOUTS = {"step_timeout", "start_timeout"}  # without a sandbox there are no other limits either


class Runner:
    """Plays matches between a rival and an attacker.

    Args:
        folder: Folder of the runner's own, the working folder.
        sandbox: Whether policies play in a sandbox.
    """

    def __init__(self, folder: Path, sandbox: bool) -> None:
        self.folder, self.sandbox = folder, sandbox
        self.policies = folder / "policies"
        shutil.copytree(HERE / "hostile", self.policies / "hostile")
        shutil.copy(HERE / "rival_policy.py", self.policies)
        sys.path.insert(0, str(self.policies))
        self._reference = None

    def play(self, name: str) -> dict:
        """Play one attack and return what came of it, by the names that `test_attacks.py` reads."""
        attack = self._class(name)
        canary_folder = self.folder / "canaries"
        shutil.rmtree(canary_folder, ignore_errors=True)
        canary_folder.mkdir()
        with Canaries(canary_folder) as canaries:
            if self._reference is None:
                self._reference = self._match(canaries, "base.Harmless", 3, {})[0]
                close_pools()
            return self._play(name, attack, canaries)

    def _play(self, name: str, attack: type, canaries: Canaries) -> dict:
        """Play one attack with canaries around it."""
        spared = {canaries.pid}
        targets = canaries.targets
        targets["code_folders"] = self._code_folders(canaries.folder)
        self._plant(attack, targets)
        state_before, before = self._system_state(targets), canaries.snapshot()
        start, error, played = time.monotonic(), "", ([], {})
        try:
            played = self._match(canaries, name, attack.episodes, attack.limits)
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
        close_pools()
        seconds = time.monotonic() - start
        (self.policies / "hostile.safetensors").unlink(missing_ok=True)
        (self.folder / "tmp").chmod(0o700)
        left = [f"process {pid} {text}" for pid, text in self._wait(spared).items()]
        end_processes(spared)
        left += sorted(self._system_state(targets) - state_before)
        after = canaries.snapshot()
        damage = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
        self._unplant(attack)
        self._clean(left)
        results, timings = played
        failures = [failure for result in results for failure in result.failures]
        texts = " ".join(map(repr, failures))
        reports = [f.message for f in failures if "AttackReport" in f.message]
        return {
            "name": name,
            "error": error,
            "episodes": len(results),
            "expected_episodes": attack.episodes,
            "achieved": sorted({_achieved(report) for report in reports} - {""}) + _forged(timings),
            "damage": sorted(damage),
            "leaked": [key for key, secret in canaries.secrets.items() if secret in texts],
            "left": left,
            "blamed": sorted({f"{f.slot} {f.agent}: {f.message}" for f in failures if not self._may_be_named(f, attack)}),
            "failures": [f.message for f in failures],
            "unprintable": [f.message for f in failures if not _is_printable(f)],
            "same": [_plain(r) for r in results] == [_plain(r) for r in self._reference[: len(results)]],
            "seconds": round(seconds, 2),
        }  # fmt: skip

    def _match(self, canaries: Canaries, name: str, n_episodes: int, limits: dict) -> tuple:
        """Play a match; return the episodes' results and the slots' counters."""
        settings = {**USUAL, **limits, "sandbox": self.sandbox}
        if not self.sandbox:
            settings = {key: value for key, value in settings.items() if key in TIMEOUTS}
            settings["memory_limit"] = None
        slots = {
            "attacker": self._resolve(name, canaries.targets),
            "rival": resolve(
                "class:rival_policy.Rival", {"weights": canaries.weights}, trusted=False
            ),
        }
        isolation = Isolation("agent", IsolationSettings(**settings))
        ref = WorldRef("probe", settings=RULES)
        task = evaluation_task(ref, slots, SEED, range(n_episodes), SLOT_MAP, isolation)
        with trust_files(not self.sandbox):
            played = run_evaluation(task)
        return list(played.episodes), vars(played.observed.slots["attacker"])

    def _resolve(self, name: str, targets: dict) -> object:
        """Return the attacker's policy: its class, or what its attack names instead."""
        attack = self._class(name)
        uri = getattr(attack, "uri", "")
        if uri.startswith("file:"):
            path = self.policies / uri.removeprefix("file:")
            class_path, settings = attack.policy
            settings = {**settings, **({"targets": targets} if "hostile." in class_path else {})}
            write_policy(path, PolicyFile(class_path, settings, {}))
            uri = f"file:{path}"
        takes_targets = not uri or uri.startswith("class:hostile.")
        settings = {"targets": targets} if takes_targets else {}
        return resolve(uri or f"class:hostile.{name}", settings, trusted=False)

    @staticmethod
    def _class(name: str) -> type:
        """Return the class of an attack."""
        module, _, class_name = name.rpartition(".")
        return getattr(importlib.import_module(f"hostile.{module}"), class_name)

    def _plant(self, attack: type, targets: dict) -> None:
        """Write the files, links and pipes that an attack lays beside its policy."""
        for name, source in getattr(attack, "files", {}).items():
            path = self.policies / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(source.replace("{mark}", targets["mark"]))
        for name, target in getattr(attack, "links", {}).items():
            (self.policies / name).symlink_to(targets[target])
        for name in getattr(attack, "pipes", ()):
            os.mkfifo(self.policies / name)

    def _unplant(self, attack: type) -> None:
        """Remove what an attack laid beside its policy."""
        for kind in ("files", "links", "pipes"):
            for name in getattr(attack, kind, ()):
                path = self.policies / (name.partition("/")[0] if kind == "files" else name)
                remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink(True)

    def _wait(self, spared: set[int]) -> dict[int, str]:
        """Wait for the end of all processes; return those that stay, as some do without a sandbox."""
        return wait_until_alone(spared, _SECONDS_TO_END if self.sandbox else 5.0)

    def _may_be_named(self, failure: object, attack: type) -> bool:
        """Return whether a failure names the attacker, or its slot where every agent attacks."""
        if failure.slot != "attacker":
            return False
        return failure.agent == ATTACKER_UID or attack.whole_slot

    def _code_folders(self, own: Path) -> list[str]:
        """Return where an attacker plants code: the real folders only if a sandbox is around it."""
        if not self.sandbox:
            return [str(own)]
        import kinfolk

        cache = os.environ.get("KINFOLK_CACHE", str(Path.home() / ".cache" / "kinfolk"))
        return [
            *site.getsitepackages(),
            str(Path(kinfolk.__file__).parent),
            cache,
            str(self.policies),
        ]

    def _system_state(self, targets: dict) -> set[str]:
        """Return what is there now in the folders of the match and on the machine."""
        planted = {
            f"file {path}"
            for folder in targets["code_folders"]
            for path in Path(folder).glob(f"*{targets['mark']}*")
        }
        folders = [self.folder / "tmp", self.policies]
        return planted | system_state(folders, targets["mark"], targets["ipc_key"])

    def _clean(self, left: list[str]) -> None:
        """Remove what an attack without a sandbox has left."""
        for text in left:
            kind, _, rest = text.partition(" ")
            with contextlib.suppress(OSError):
                if kind == "file":
                    path = Path(rest)
                    remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                elif kind == "SysV":
                    which, number = rest.split()
                    os.system(
                        f"ipcrm -{which[0] if which != 'msg' else 'q'} {int(number)} 2>/dev/null"
                    )


def _achieved(report: str) -> str:
    """Return what an attacker says that it has achieved."""
    return report.partition("ACHIEVED ")[2].partition(" | ")[0]


def _forged(timings: dict) -> list[str]:
    """Return the attacker's counters that cannot be true."""
    return [f"{name} is {number}" for name, number in timings.items() if not 0 <= number <= 10**12]


def _is_printable(failure: object) -> bool:
    """Return whether a failure has no control characters, whatever its policy wrote."""
    lines = [failure.message, failure.location, *failure.traceback.split("\n")]
    return all(line.isprintable() and len(line) < 3000 for line in lines)


def _plain(result: object) -> dict:
    """Return a result without what names failures."""
    return vars(replace(result, failures=(), never_acted=(), invalid_actions={}))


def main() -> None:
    """Play the attacks named on standard input, and write a line of JSON for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sandbox", action="store_true")
    arguments = parser.parse_args()
    replies = os.fdopen(os.dup(1), "w", buffering=1)  # what policies print must not get there
    adopt_orphans()
    os.chdir(arguments.folder)
    (arguments.folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(arguments.folder / "tmp")
    runner = Runner(arguments.folder, arguments.sandbox)
    for line in sys.stdin:
        try:
            reply = runner.play(line.strip())
        except BaseException as error:
            import traceback

            traceback.print_exc()
            reply = {
                "name": line.strip(),
                "error": f"harness: {type(error).__name__}: {error}"[:500],
            }
        replies.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
