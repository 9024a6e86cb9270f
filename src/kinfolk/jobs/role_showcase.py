"""Games to look at: of the best line-up as it evolves, and of the champion at the end."""

from __future__ import annotations

from collections.abc import Iterator

from kinfolk.core.events import Artefact
from kinfolk.evaluation.match import Match
from kinfolk.evaluation.recorded import record_episode
from kinfolk.jobs.role_games import Game, as_batch, roles_in, seat
from kinfolk.jobs.role_judging import UNSEEN
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import Evolution, lineup_policy
from kinfolk.play.replay import artefacts, record


def show_game(
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


def show_champion(settings: EvolveRoles, state: Evolution) -> Iterator[Artefact]:
    """The champion, and the seeded line-up on the same unseen map."""
    ground = settings.ground
    for name, roles in (("champion", state.champion), ("seeded", state.seeded)):
        policy = lineup_policy(ground.kit, state.catalog, roles, settings.players)
        seed, slots = settings.seed + UNSEEN, {name: policy}
        match = Match(ground.world, ground.world_settings, slots, seed, 0, 1, ground.preset)
        used = dict.fromkeys(roles)  # as the tables of `lineup_policy` have them
        names = {"role": [state.catalog.roles[role].name for role in used]}
        yield from record_episode(match, 0, name, names=names)
