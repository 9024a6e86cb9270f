"""Settings of co-evolution, beside those of every evolution of roles."""

from __future__ import annotations

from typing import Literal

from kinfolk.core.settings import Settings, setting


class CoevolutionSettings(Settings):
    """How populations of roles evolve against each other; `coevolve` says how many there are."""

    opponents: Literal["mixture", "latest"] = setting(
        "mixture",
        "Opponents: the latest champions and the Nash mixture of all in turn, or the latest alone.",
    )
    hall_every: int = setting(
        5, "Generations between two champions of a population in the hall of fame.", ge=1
    )
    payoff_games: int = setting(
        16, "Games of each pair of champions; half of them with sides exchanged.", ge=2
    )
    best_response_generations: int = setting(
        10, "Generations of a fresh best response, which tells how exploitable a mixture is.", ge=1
    )
