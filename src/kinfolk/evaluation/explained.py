"""One tick of a game, explained: who did what, and what kept them from doing something else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kinfolk.core.errors import UsageError
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.match import Match, seated
from kinfolk.play.episode import Play
from kinfolk.policies.reasons import ACTED, teller_of


@dataclass(frozen=True)
class Explanation:
    """Why one agent did what it did; `passed` are the behaviours that did not act, in order."""

    uid: int
    slot: str
    action: dict[str, str]  # by head
    facts: dict[str, str]
    acted: str | None
    passed: tuple[tuple[str, str], ...]  # behaviour, what kept it


def explain_tick(match: Match, tick: int) -> list[Explanation]:
    """Play the first episode of a match to `tick` and explain what everybody did in it.

    Raises:
        UsageError: The game ends before, or nobody in it can tell.
        PolicyFailedError: A policy failed, at this tick or before.
    """
    with seated(replace(match, care=Care(on_failure="abort"))) as play:
        tellers = [one for slot in play.slots if (one := teller_of(slot.policy)) is not None]
        if not tellers:
            raise UsageError(
                "No policy here can tell why it acts. Role policies can, as kin://smart."
            )
        for _ in range(tick):
            play.tick()
            if play.over:
                raise UsageError(
                    f"The game has {int(play.world.tick[0])} ticks; {tick} is no tick of it."
                )
        for policy in tellers:
            policy.explain(True)
        try:
            play.tick()
            return [one for index in range(len(play.slots)) for one in _of_slot(play, index)]
        finally:
            for policy in tellers:
                policy.explain(False)


def _of_slot(play: Play, index: int) -> list[Explanation]:
    policy = teller_of(play.slots[index].policy)
    if policy is None or play.lists.asked[index] == 0:
        return []
    asked, lists = int(play.lists.asked[index]), play.lists
    names, why = policy.reasons, policy.why()
    heads = play.world.spec.groups[0].heads
    found = []
    for i in range(asked):
        action = play.actions[lists.place[index, i]]
        chosen = {head.name: head.choices[int(a)] for head, a in zip(heads, action, strict=True)}
        lines = [
            (names.behaviours[int(b)], names.verdicts[int(v)])
            for b, v in zip(why.considered[i], why.verdict[i], strict=True)
            if b >= 0
        ]
        facts = {
            name: words[int(why.facts[name][i])] if words else str(int(why.facts[name][i]))
            for name, words in names.facts.items()
        }
        acted = next((name for name, verdict in lines if verdict == ACTED), None)
        passed = tuple(line for line in lines if line[1] != ACTED)
        uid = int(lists.uid[index, i])
        found.append(Explanation(uid, play.slots[index].id, chosen, facts, acted, passed))
    return found


def of_agent(found: list[Explanation], uid: int) -> Explanation:
    """That of one agent.

    Raises:
        UsageError: Nobody of this number acted.
    """
    for one in found:
        if one.uid == uid:
            return one
    known = ", ".join(str(uid) for uid in np.unique([one.uid for one in found]))
    raise UsageError(f"No agent {uid} acted in this tick. Known: {known}.")
