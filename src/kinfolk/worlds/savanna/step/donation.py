"""Donations: prey give a part of their energy to the prey around them."""

from __future__ import annotations

from kinfolk.core.jit import inline_always
from kinfolk.worlds.savanna import codes
from kinfolk.worlds.savanna.codes import PREY
from kinfolk.worlds.savanna.rules import SavannaRules
from kinfolk.worlds.savanna.state import EventBuffer, record_event
from kinfolk.worlds.savanna.step.context import SavannaAgents
from kinfolk.worlds.savanna.step.occupancy import refresh_occupied_cell


@inline_always
def give(
    agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int, giver: int, other: int
) -> None:
    """Move a part of an agent's energy to another; the multiplier may make or lose energy.

    Args:
        agents: Writes energies, cells, counters and accounts.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
        giver: Row of the agent that gives.
        other: Row of the agent that receives.
    """
    kind = 2 + agents.group[w, giver] - rules.n_types
    gift = agents.energy[w, giver] * rules.donation[kind]
    agents.energy[w, giver] -= gift
    agents.energy[w, other] += gift * rules.donation_multiplier
    agents.energy_accounts[w, codes.GROWN] += gift * rules.donation_multiplier - gift
    agents.counters[w, codes.DONATIONS] += 1
    refresh_occupied_cell(agents, w, PREY, giver)
    refresh_occupied_cell(agents, w, PREY, other)
    record_event(events, w, codes.DONATION, agents.uid[w, giver], agents.uid[w, other], gift)


@inline_always
def run_donations(agents: SavannaAgents, rules: SavannaRules, events: EventBuffer, w: int) -> None:
    """Let living prey give to the prey on the eight cells around them, in uid order of the givers.

    A gift is a fraction of the energy that the giver has at that moment, so its gifts shrink one
    after the other, and gifts received earlier in the step are passed on.

    Args:
        agents: Written for every gift.
        rules: Rules of the batch.
        events: Buffer, appended to.
        w: World.
    """
    size = rules.size
    for i in range(agents.n_alive[w, PREY]):
        giver = agents.alive_rows[w, PREY, i]
        fraction = rules.donation[2 + agents.group[w, giver] - rules.n_types]
        if fraction <= 0.0 or not agents.alive[w, giver] or agents.carcass[w, giver]:
            continue
        x, y = agents.x[w, giver], agents.y[w, giver]
        for to_x in range(max(x - 1, 0), min(x + 2, size)):
            for to_y in range(max(y - 1, 0), min(y + 2, size)):
                other = agents.first_in_cell[w, PREY, to_x * size + to_y]
                while other >= 0:
                    is_self = to_x == x and to_y == y
                    if not is_self and agents.alive[w, other] and not agents.carcass[w, other]:
                        give(agents, rules, events, w, giver, other)
                    other = agents.next_in_cell[w, other]
