"""The rules of the probe world, as numbers."""

from __future__ import annotations

from pydantic import Field

from kinfolk.core.settings import Settings


class Probe(Settings):
    """A ring of cells with food, grazers that eat it and hunters that tap grazers.

    Energies are whole numbers, so that every account balances exactly.
    """

    cells: int = Field(default=12, ge=3)
    rows: int = Field(default=16, ge=2)
    grazers: int = Field(default=5, ge=0)
    hunters: int = Field(default=3, ge=0)
    max_ticks: int = Field(default=60, ge=1)
    start_energy: int = Field(default=12, ge=1)
    meal: int = Field(default=4, ge=1)
    bite: int = Field(default=3, ge=1)
    birth_energy: int = Field(default=10, ge=2)
    birth_cost: int = Field(default=4, ge=1)
    max_age: int = Field(default=40, ge=1)
    growth: float = Field(default=0.3, ge=0.0, le=1.0)
