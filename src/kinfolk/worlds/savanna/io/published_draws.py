"""Random draws of the published code, made by numpy's generator in the published order.

The rules themselves draw by kinfolk's keys. A replay of a trace needs the numbers of the trace, so it
foresees the births of a step and draws what the published code draws for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kinfolk.core.arrays import Floats, Ints
from kinfolk.worlds.savanna.step.births import NewbornValues
from kinfolk.worlds.savanna.step.inheritance import set_founder_traits
from kinfolk.worlds.savanna.world import SavannaWorld

_NEIGHBORS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def draw_founder_count(generator: np.random.Generator, most: int, least: int | None) -> int:
    """Return the number of founders of a species, as eco_evolutionary_metabolic_rate draws it.

    Args:
        generator: Generator of the episode.
        most: Highest number.
        least: Lowest number; None for a third of the highest.
    """
    lowest = min(max(1, most // 3) if least is None else least, most)
    return int(generator.integers(lowest, most + 1))


class PublishedDraws:
    """Draw placement, traits and cells of one world as the published code does.

    Args:
        world: Batch of one world.
        generator: Generator of the episode; the founders may have been counted with it.
        genome: `founder_genome` and other settings of the trait; None if there is none.
        knows_order: Whether newborns without a free neighbour cell are placed in the order of cells;
            if not, their cells are taken from the trace.
    """

    def __init__(
        self,
        world: SavannaWorld,
        generator: np.random.Generator,
        genome: Mapping[str, Any] | None,
        knows_order: bool,
    ) -> None:
        self._world, self._generator = world, generator
        self._genome, self._knows_order = genome, knows_order
        self.newborn_cells: Ints = np.zeros((1, 0), dtype=np.int64)  # of the trace, in order

    def reset(self, seed: int) -> None:
        """Start the episode of `seed`: draw founders' traits, then all cells at once."""
        world = self._world
        traits = self._draw_founder_traits()
        free = np.flatnonzero(~world._rules.wall)
        cells = self._generator.choice(free, world._n_start_cells, replace=False)
        world._begin(world._all_worlds, np.array([seed], dtype=np.int64), cells[None])
        if traits is not None:
            n_predators = int(world._founder_counts[:2].sum())
            set_founder_traits(world._arrays, world._rules, 0, traits, n_predators)

    def _draw_founder_traits(self) -> Floats | None:
        """Draw one number per founder, predators first; none without a spread."""
        if self._genome is None:
            return None
        counts = self._world._founder_counts
        traits = []
        for species, count in (("predator", counts[:2].sum()), ("prey", counts[2:].sum())):
            values = self._genome["founder_genome"][species]
            mean, std = values["metabolic_rate_mean"], values["metabolic_rate_std"]
            traits += [
                self._generator.normal(mean, std) if std > 0 else mean for _ in range(int(count))
            ]
        return np.array(traits, dtype=np.float64)[:, None]

    def draw_newborns(self) -> NewbornValues:
        """Return cells and traits of the births of this step, in order, before they happen."""
        s, rules = self._world._arrays, self._world._rules
        occupied = {
            int(s.x[0, row]) * rules.size + int(s.y[0, row])
            for species in range(2)
            for row in s.alive_rows[0, species, : s.n_alive[0, species]]
        }
        active, numbers = s.active[0].tolist(), s.next_number[0].tolist()
        cells: list[int] = []
        traits: list[Floats] = []
        for species in range(2):
            rows = s.alive_rows[0, species, : s.n_alive[0, species]].tolist()
            pool = [s.traits[0, row].copy() for row in rows]
            for parent, row in enumerate(rows):
                kind = 2 * species + int(s.group[0, row]) - species * rules.n_types
                ratio, limit = rules.max_predator_ratio, rules.n_possible[kind]
                if s.energy[0, row] < rules.birth_threshold[kind]:
                    continue
                if species == 0 and ratio >= 0.0 and active[0] >= ratio * active[1]:
                    continue
                if 0 <= limit <= numbers[kind]:
                    continue
                child = self._draw_traits(pool, parent)
                cell = self._draw_cell(int(s.x[0, row]), int(s.y[0, row]), occupied, len(cells))
                if cell is None:
                    continue
                pool.append(child)
                occupied.add(cell)
                cells.append(cell)
                traits.append(child)
                active[species] += 1
                numbers[kind] += 1
        shape = (1, len(cells), s.traits.shape[2])
        return self._world._drawn_newborns._replace(
            cells=np.array([cells], dtype=np.int64).reshape(1, -1),
            traits=np.array(traits).reshape(shape),
        )

    def _draw_traits(self, pool: list[Floats], parent: int) -> Floats:
        """Return the traits of a child of `pool[parent]`."""
        if self._genome is None:
            return pool[parent]
        template = parent
        if self._genome.get("genome_neutral_drift_control", False):
            template = int(self._generator.integers(len(pool)))
        child = pool[template].copy()
        mutation = self._genome["genome_mutation"]
        mutates = mutation["rate"] > 0 and mutation["std"] > 0
        if mutates and self._generator.random() < mutation["rate"]:
            low, high = self._world._rules.trait_bounds[0]
            child[0] = min(max(child[0] + self._generator.normal(0, mutation["std"]), low), high)
        return child

    def _draw_cell(self, x: int, y: int, occupied: set[int], birth: int) -> int | None:
        """Return the cell of a newborn; None on a full grid.

        Args:
            x: The parent's x.
            y: The parent's y.
            occupied: Cells with agents.
            birth: Births of this step so far.
        """
        wall, size = self._world._rules.wall, self._world._rules.size
        for dx, dy in _NEIGHBORS:
            to_x, to_y = x + dx, y + dy
            cell = to_x * size + to_y
            if 0 <= to_x < size and 0 <= to_y < size and not wall[cell] and cell not in occupied:
                return cell
        free = [cell for cell in range(size * size) if not wall[cell] and cell not in occupied]
        if not free:
            return None
        chosen = free[int(self._generator.integers(len(free)))]
        if self._knows_order or birth >= self.newborn_cells.shape[1]:
            return chosen
        return int(self.newborn_cells[0, birth])
