"""One tick of a game, explained: who did what, and what kept them from doing something else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinfolk.core.errors import UsageError
from kinfolk.evaluation.rollout import Isolation
from kinfolk.isolation.settings import IsolationSettings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.policies.explain import ACTED, find_explainable


@dataclass(frozen=True)
class ActionExplanation:
    """Why one agent did what it did; `passed` are the behaviours that did not act, in order."""

    uid: int
    slot: str
    action: dict[str, str]  # by head
    facts: dict[str, str]
    behavior: str | None
    rejected: tuple[tuple[str, str], ...]  # behaviour, what kept it


def explain_tick(task: RolloutTask[Any], tick: int) -> list[ActionExplanation]:
    """Play the first episode of a task to `tick` and explain what everybody did in it.

    Raises:
        UsageError: The game ends before, or nobody in it can tell.
        PolicyFailedError: A policy failed, at this tick or before.
    """
    strict = Isolation(care=IsolationSettings(on_failure="abort"))
    one = replace(task, episodes=task.episodes[:1], observer=strict)
    with EpisodeRunner(one) as runner:
        play = runner.loop
        tellers = [t for slot in play.slots if (t := find_explainable(slot.policy)) is not None]
        if not tellers:
            raise UsageError(
                "No policy here can tell why it acts. Role policies can, as kin://smart."
            )
        for _ in range(tick):
            play.tick()
            if play.is_done:
                raise UsageError(
                    f"The game has {int(play.world.tick[0])} ticks; {tick} is no tick of it."
                )
        for policy in tellers:
            policy.enable_explanations(True)
        try:
            play.tick()
            return [one for index in range(len(play.slots)) for one in _explain_slot(play, index)]
        finally:
            for policy in tellers:
                policy.enable_explanations(False)


def _explain_slot(loop: EpisodeLoop, index: int) -> list[ActionExplanation]:
    policy = find_explainable(loop.slots[index].policy)
    if policy is None or loop.slot_rows.n_rows[index] == 0:
        return []
    asked, lists = int(loop.slot_rows.n_rows[index]), loop.slot_rows
    names, why = policy.explanation_schema, policy.last_explanation()
    heads = loop.world.spec.groups[0].heads
    found = []
    for i in range(asked):
        action = loop.actions[lists.memory_index[index, i]]
        chosen = {head.name: head.choices[int(a)] for head, a in zip(heads, action, strict=True)}
        lines = [
            (names.behaviors[int(b)], names.outcomes[int(v)])
            for b, v in zip(why.considered[i], why.outcome[i], strict=True)
            if b >= 0
        ]
        facts = {
            name: words[int(why.facts[name][i])] if words else str(int(why.facts[name][i]))
            for name, words in names.facts.items()
        }
        acted = next((name for name, verdict in lines if verdict == ACTED), None)
        passed = tuple(line for line in lines if line[1] != ACTED)
        uid = int(lists.uid[index, i])
        found.append(ActionExplanation(uid, loop.slots[index].id, chosen, facts, acted, passed))
    return found


def find_explanation(explanations: list[ActionExplanation], uid: int) -> ActionExplanation:
    """That of one agent.

    Raises:
        UsageError: Nobody of this number acted.
    """
    for one in explanations:
        if one.uid == uid:
            return one
    known = ", ".join(str(uid) for uid in np.unique([one.uid for one in explanations]))
    raise UsageError(f"No agent {uid} acted in this tick. Known: {known}.")
