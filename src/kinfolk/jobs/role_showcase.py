"""Showcases: a game of the best line-up, recorded so that it can be watched while it is played."""

from __future__ import annotations

from collections.abc import Iterator

from kinfolk.core.events import Artefact
from kinfolk.jobs.role_games import Game, as_batch, roles_in, seat
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import Evolution
from kinfolk.play.replay import artefacts, record


def showcase(
    settings: EvolveRoles, state: Evolution, game: Game, generation: int
) -> Iterator[Artefact]:
    """Play one game again, with its reasons, and yield its replay piece by piece.

    The name of every role stands in the head, by its row of the tables that are played.
    """
    batch = as_batch(settings.ground, state.catalog, settings.seed, [game])
    names = [state.catalog.roles[i].name for i in roles_in([game])]
    about = {
        "preset": settings.preset,
        "world_settings": dict(settings.ground.world_settings),
        "seed": settings.seed,
        "episode": game.episode,
        "generation": generation,
        "names": {"role": [*names, "nobody"]},
    }
    play = seat(batch)
    try:
        yield from artefacts(f"generation-{generation:05d}", record(play, about))
    finally:
        play.slots[0].policy.close()
