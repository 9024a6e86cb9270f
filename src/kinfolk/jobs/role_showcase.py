"""Games to look at: the champion, and the seeded line-up on the same unseen map."""

from __future__ import annotations

from collections.abc import Iterator

from kinfolk.core.events import Artefact
from kinfolk.evaluation.match import Match
from kinfolk.evaluation.recorded import record_episode
from kinfolk.jobs.role_judging import UNSEEN
from kinfolk.jobs.role_settings import EvolveRoles
from kinfolk.jobs.role_state import Evolution, lineup_policy


def showcase(settings: EvolveRoles, state: Evolution) -> Iterator[Artefact]:
    """Replays of one game each, recorded as it is played."""
    ground = settings.ground
    for name, roles in (("champion", state.champion), ("seeded", state.seeded)):
        policy = lineup_policy(ground.kit, state.catalog, roles, settings.players)
        seed, slots = settings.seed + UNSEEN, {name: policy}
        match = Match(ground.world, ground.world_settings, slots, seed, 0, 1, ground.preset)
        yield from record_episode(match, 0, name)
