"""All that an evolution of nets goes on with, and how it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Arrays
from kinfolk.core.events import Artefact, Snapshot
from kinfolk.core.keys import fold, root
from kinfolk.core.spaces import WorldSpec
from kinfolk.evaluation.summary import Estimate
from kinfolk.evolution.populations import BasePop
from kinfolk.fitness.arena import Arena
from kinfolk.fitness.carried import taken
from kinfolk.jobs.evolve_nets_settings import EvolveNets
from kinfolk.jobs.nets_map import axes_of, picture
from kinfolk.jobs.nets_search import kept_arrays, kept_from, make_search
from kinfolk.jobs.nets_task import arena_of, evaluator, populations, rivals_of
from kinfolk.nets.kinds import nets_from
from kinfolk.policies.evolved import CLASS_PATH
from kinfolk.policies.resolve import ResolvedPolicy
from kinfolk.store.policy_file import BEST, PolicyFile, policy_artefact

_SEARCH = 4  # branch of the root key


class Champion(NamedTuple):
    """One net, taken out of its population."""

    uid: int
    nets: Any


@dataclass
class Lab:
    """The populations, their searches, and what has been seen of them."""

    settings: EvolveNets
    arena: Arena
    spec: WorldSpec
    pops: dict[str, BasePop]
    searches: dict[str, Any]
    evaluator: Any
    rivals: dict[str, ResolvedPolicy]
    generation: int = 0
    evaluations: int = 0
    steps: int = 0
    reached: bool = False
    means: dict[str, float] = field(default_factory=dict)
    held: dict[str, list[Any]] = field(default_factory=dict)
    founders: dict[str, dict[int, int]] = field(default_factory=dict)
    latest: dict[str, dict[str, Champion]] = field(default_factory=dict)  # by population and who
    best: dict[str, Champion] = field(default_factory=dict)
    best_score: dict[str, float] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether no generation is left."""
        return self.reached or self._over_after(self.generation, self.evaluations)

    def _over_after(self, generation: int, evaluations: int) -> bool:
        limit = self.settings.evaluations
        return generation >= self.settings.generations or (
            limit is not None and evaluations >= limit
        )

    @property
    def must_hold_out(self) -> bool:
        """Whether the generation at hand is one whose elite is played on unseen episodes."""
        asked = self.settings
        every = asked.held_out_every
        if every is None and asked.goal is not None and asked.goal_of != "mean":
            every = 1
        last = self.reached or self._over_after(self.generation + 1, self.evaluations)
        return last or (every is not None and (self.generation + 1) % every == 0)

    def elect(self, name: str, pop: BasePop, member: int) -> None:
        """Take the best member of a generation out, before the next takes its place."""
        nets: Any = pop.nets
        one = nets_from(nets.about(), taken(nets.to_arrays(), np.array([member])))
        self.latest[name] = {"elite": Champion(int(pop.uid[member]), one)}

    def centre(self, name: str) -> None:
        """Take the centre of a strategy out, after it was told."""
        middle = self.searches[name].centre()
        if middle is not None:
            nets: Any = self.pops[name].nets
            one = nets_from(nets.about(), {"flat": middle[None].astype(np.float32)})
            self.latest[name]["centre"] = Champion(self.searches[name].centre_uid, one)

    def champions(self, name: str) -> Iterator[tuple[str, Champion]]:
        """The elite and, of a strategy, the centre."""
        yield from self.latest[name].items()

    def note_held_out(self, name: str, who: str, champion: Champion, score: Estimate) -> None:
        """Remember a score; the best so far is the one that `run:NAME` plays."""
        if who == "centre" or "centre" not in self.latest[name]:
            self.held[name] = list(score)
        if name not in self.best_score or score.mean > self.best_score[name]:
            self.best[name], self.best_score[name] = champion, score.mean

    def playing(self, name: str) -> dict[str, Champion]:
        """What `@best` and `@latest` stand for."""
        latest = self.latest[name].get("centre") or self.latest[name]["elite"]
        return {"best": self.best.get(name, latest), "latest": latest}


def new_lab(settings: EvolveNets) -> Lab:
    """Everything at its beginning.

    Raises:
        UsageError: Something in the settings is unknown or does not fit.
    """
    arena, spec = arena_of(settings)
    pops = populations(settings, arena, spec)
    key = fold(root(settings.seed), _SEARCH)
    searches = {
        name: make_search(settings, pop, int(fold(key, number)))
        for number, (name, pop) in enumerate(pops.items())
    }
    rivals = rivals_of(settings, arena)
    lab = Lab(settings, arena, spec, pops, searches, evaluator(settings, arena, spec), rivals)
    lab.founders = {name: {} for name in pops}
    return lab


def snapshot(lab: Lab) -> Snapshot:
    """All of it."""
    arrays: dict[str, AnyArray] = {}
    searches: dict[str, Any] = {}
    best: dict[str, Any] = {}
    for name, pop in lab.pops.items():
        arrays |= {f"pops/{name}/{k}": v for k, v in pop.to_arrays().items()}
        kept = lab.searches[name].keep()
        arrays |= kept_arrays(kept, f"search/{name}/")
        searches[name] = {"notes": kept.notes, "next_uid": pop.next_uid}
        champion = lab.playing(name)["best"]
        arrays |= {f"best/{name}/{k}": v for k, v in champion.nets.to_arrays().items()}
        best[name] = [lab.best_score.get(name), champion.uid, champion.nets.about()]
    arrays |= {f"env/{k}": v for k, v in getattr(lab.evaluator, "env", {}).items()}
    founders = {n: [[k, v] for k, v in known.items()] for n, known in lab.founders.items()}
    notes = {
        "generation": lab.generation, "evaluations": lab.evaluations, "steps": lab.steps,
        "reached": lab.reached, "means": lab.means, "held": lab.held, "founders": founders,
        "searches": searches, "best": best,
    }  # fmt: skip
    return Snapshot(step=lab.generation, arrays=arrays, notes=notes)


def policies(lab: Lab) -> Iterator[Artefact]:
    """The nets that play under the run's name, in a file each."""
    for name in lab.pops:
        for moment, champion in lab.playing(name).items():
            about = {
                "nets": champion.nets.about(), "head": lab.arena.head,
                "groups": list(lab.arena.groups[name]), "blind": lab.arena.blind,
            }  # fmt: skip
            policy = PolicyFile(CLASS_PATH, about, champion.nets.to_arrays())
            yield policy_artefact(name, BEST if moment == BEST else f"{lab.generation:08d}", policy)


def pictures(lab: Lab) -> Iterator[Artefact]:
    """Maps of behaviours, drawn."""
    for name, search in lab.searches.items():
        if search.map is not None and search.map.filled:
            axes = axes_of(lab.settings)
            title = f"{lab.settings.task}, {name}, generation {lab.generation}"
            drawn = picture(search.map.grid(), axes, title)
            yield Artefact(name="map.svg", data=drawn.encode())


def load(lab: Lab, resume: Snapshot) -> None:
    """Go on from a snapshot."""
    notes, arrays = resume.notes, resume.arrays
    for name in ("generation", "evaluations", "steps", "reached", "means", "held"):
        value = notes[name]
        setattr(lab, name, dict(value) if isinstance(value, dict) else value)
    for name, pop in lab.pops.items():
        search = notes["searches"][name]
        pop.load_arrays(_under(arrays, f"pops/{name}/"), search["next_uid"])
        lab.searches[name].put(kept_from(arrays, search["notes"], f"search/{name}/"))
        lab.founders[name] = {int(k): int(v) for k, v in notes["founders"][name]}
        score, uid, about = notes["best"][name]
        if score is not None:
            lab.best[name] = Champion(uid, nets_from(about, _under(arrays, f"best/{name}/")))
            lab.best_score[name] = score
    if hasattr(lab.evaluator, "env"):
        lab.evaluator.env = _under(arrays, "env/")


def _under(arrays: Arrays, prefix: str) -> dict[str, AnyArray]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
