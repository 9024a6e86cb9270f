"""Metrics of who feeds, guards and stays near whom, by species and age, and of what groups earn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray
from kinfolk.worlds.savanna.agent_record import SavannaAgentRecord
from kinfolk.worlds.savanna.kin_metrics import KinLog, find_founders
from kinfolk.worlds.savanna.world import SavannaWorld

SPECIES = ("predator", "prey")
YOUNG_AGE = (
    30  # steps until which an agent is young: a predator is fed for as long, a child protected
)
# Steps from which an agent is old: the fertility caps of the design note. They are fixed here, so that
# agents of worlds with and without caps are compared at the same ages.
OLD_AGE = {"predator": 100, "prey": 80}
_SAMPLE_EVERY = 10  # ticks
_NEAR = 2  # cells
_AGES = ("young", "adult", "old")


class SocialLog(KinLog):
    """Record all agents of one world, and sample by species and age how they live with their kin.

    Args:
        world: The batch; its events are recorded from `start` on.
        world_index: Which of its worlds to follow.
    """

    def __init__(self, world: SavannaWorld, world_index: int = 0) -> None:
        super().__init__(world, world_index)
        self._samples: dict[tuple[str, str, str], list[float]] = {}  # by quantity, species, age
        self._counts: dict[str, list[int]] = {name: [] for name in SPECIES}

    def start(self) -> None:
        """Start recording with the founders of a new episode."""
        super().start()
        self._samples, self._counts = {}, {name: [] for name in SPECIES}

    def update(self) -> None:
        """Record the last step, and sample all living agents every few ticks."""
        super().update()
        if int(self._world.tick[self._index]) % _SAMPLE_EVERY == 0:
            for species in SPECIES:
                self._sample(species)

    def _sample(self, species: str) -> None:
        """Sample energies, distances to kin and to strangers, and who is near young kin."""
        s, w = self._world._arrays, self._index
        names = [group.name for group in self._world.spec.groups]
        groups = [number for number, name in enumerate(names) if name.endswith(species)]
        is_alive = s.alive[w] & ~s.carcass[w] & np.isin(s.group[w], groups)
        rows = np.flatnonzero(is_alive)
        self._counts[species].append(len(rows))
        if not len(rows):
            return
        founder, tick = find_founders(self), int(self._world.tick[w])
        uids = s.uid[w, rows].tolist()
        founders = np.array([founder[uid] for uid in uids])
        ages = np.array([tick - self.by_uid[uid].birth_step for uid in uids])
        x, y = s.x[w, rows].astype(np.int64), s.y[w, rows].astype(np.int64)
        distances = np.maximum(abs(x[:, None] - x), abs(y[:, None] - y)).astype(np.float64)
        np.fill_diagonal(distances, np.inf)
        is_kin = founders[:, None] == founders
        to_kin = np.where(is_kin, distances, np.inf).min(axis=1)
        to_others = np.where(is_kin, np.inf, distances).min(axis=1)
        near_young = (is_kin & (distances <= _NEAR) & (ages < YOUNG_AGE)).any(axis=1)
        has_both = np.isfinite(to_kin) & np.isfinite(to_others)
        closer_by = np.full(len(rows), np.nan)
        closer_by[has_both] = to_others[has_both] - to_kin[has_both]
        columns = {"energy": s.energy[w, rows], "near_young_kin": near_young.astype(np.float64),
                   "kin_closer_by": closer_by}  # fmt: skip
        self._add_samples(species, ages, columns)

    def _add_samples(self, species: str, ages: AnyArray, columns: dict[str, AnyArray]) -> None:
        """Add sampled values to those of the same species and age; NaN does not apply.

        Args:
            species: The species.
            ages: `[agents]`, in steps.
            columns: `[agents]` values by quantity.
        """
        classes = np.where(ages < YOUNG_AGE, 0, np.where(ages < OLD_AGE[species], 1, 2))
        for quantity, values in columns.items():
            for number, age in enumerate(_AGES):
                chosen = values[(classes == number) & np.isfinite(values)]
                self._samples.setdefault((quantity, species, age), []).extend(chosen.tolist())

    def compute_metrics(self, late_age: int = 50) -> dict[str, float]:
        """Return the kin metrics and those of this log.

        Args:
            late_age: Age of a parent from which on its births count as late.

        Returns:
            Metrics by name; NaN where nothing occurred that the metric counts.
        """
        metrics = super().compute_metrics(late_age)
        for species in SPECIES:
            for age in ("adult", "old"):
                for quantity in ("energy", "near_young_kin", "kin_closer_by"):
                    values = self._samples.get((quantity, species, age), [])
                    metrics[f"{quantity}_{age}_{species}"] = _mean_or_nan(values)
            metrics[f"population_variation_{species}"] = _measure_variation(self._counts[species])
            metrics[f"young_survival_{species}"] = self._measure_survival(species)
            metrics[f"late_births_{species}"] = self._measure_late_births(species)
        bites = list(self._list_shared_bites())
        metrics["kin_feeding_bias"] = _mean_or_nan([b["by_kin"] - b["expected"] for b in bites])
        return metrics | self._measure_feeding(bites) | self._measure_income()

    def _measure_feeding(self, bites: list[dict[str, Any]]) -> dict[str, float]:
        """Return how often kin ate of carcasses that others made: per carcass, and per young predator.

        Args:
            bites: What `_list_shared_bites` yields.
        """
        records = self.by_uid
        ages = {
            uid: (records[uid].death_step or 0) - records[killer].birth_step
            for uid, killer in self.carcass_makers.items()  # a carcass has a step of its death
        }
        is_old = {uid: age >= OLD_AGE["predator"] for uid, age in ages.items()}
        born = [r for r in records.values() if r.parent and r.policy_group.endswith("predator")]
        by_kin = [bite for bite in bites if bite["by_kin"]]
        rates = {}
        for age, wanted in (("adult", False), ("old", True)):
            n_carcasses = sum(old == wanted for old in is_old.values())
            n_bites = sum(is_old[bite["carcass"]] == wanted for bite in by_kin)
            rates[f"kin_bites_per_carcass_of_{age}"] = _divide(n_bites, n_carcasses)
        n_young = sum(bite["eater_is_young"] for bite in by_kin)
        rates["kin_bites_per_young_predator"] = _divide(n_young, len(born))
        return rates

    def _list_shared_bites(self) -> Iterator[dict[str, Any]]:
        """Yield every bite into a carcass that another predator made, and who took it.

        `expected` is the share of kin of the killer among the other living predators: what `by_kin`
        would be on average if nobody cared who bites.
        """
        founders, records = find_founders(self), self.by_uid
        predators = [r for r in records.values() if r.policy_group.endswith("predator")]
        for record in predators:
            for event in record.eating_events:
                hunter = self.carcass_makers.get(event["other"], record.uid)
                if event["kind"] != "carcass_bite" or hunter == record.uid:
                    continue
                step = event["t"]
                living = [r for r in predators if _is_alive(r, step) and r.uid != hunter]
                n_kin = sum(founders[r.uid] == founders[hunter] for r in living)
                yield {
                    "by_kin": float(founders[hunter] == founders[record.uid]),
                    "expected": n_kin / max(1, len(living)),
                    "carcass": event["other"],
                    "eater_is_young": step - record.birth_step < YOUNG_AGE,
                }

    def _measure_survival(self, species: str) -> float:
        """Return the share of newborns that lived for `YOUNG_AGE` steps; NaN without newborns."""
        last = int(self._world.tick[self._index]) - YOUNG_AGE
        born = [
            record
            for record in self.by_uid.values()
            if record.parent is not None
            and record.policy_group.endswith(species)
            and record.birth_step <= last
        ]
        lived = [r.death_step is None or r.death_step - r.birth_step >= YOUNG_AGE for r in born]
        return _mean_or_nan([float(value) for value in lived])

    def _measure_late_births(self, species: str) -> float:
        """Return the share of births that fell into the second half of the episode; NaN without births."""
        middle = 0.5 * int(self._world.tick[self._index])
        records = self.by_uid.values()
        born = [r for r in records if r.parent is not None and r.policy_group.endswith(species)]
        return _mean_or_nan([float(record.birth_step >= middle) for record in born])

    def _measure_income(self) -> dict[str, float]:
        """Return the energy that each group of predators gained per step that its agents lived."""
        income = {}
        for group in self._world.spec.groups:
            if group.name.endswith("predator"):
                records = [r for r in self.by_uid.values() if r.policy_group == group.name]
                steps = sum(record.avg_energy_steps for record in records)
                gained = sum(record.energy_gained for record in records)
                income[f"income_{group.name}"] = _divide(gained, steps)
        return income


def _is_alive(record: SavannaAgentRecord, step: int) -> bool:
    """Return whether an agent was alive in a step."""
    return record.birth_step <= step and (record.death_step is None or record.death_step > step)


def _measure_variation(counts: list[int]) -> float:
    """Return the standard deviation of a population over its mean; NaN of fewer than two samples."""
    if len(counts) < 2 or not any(counts):
        return float("nan")
    return float(np.std(counts) / np.mean(counts))


def _mean_or_nan(values: list[float]) -> float:
    """Return the mean of values; NaN if there are none."""
    return float(np.mean(values)) if values else float("nan")


def _divide(total: float, count: int) -> float:
    """Return a total per count; NaN if there is nothing to count."""
    return total / count if count else float("nan")
