"""Explain the actions of one tick: which behavior acted, and why others did not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from kinfolk.core.errors import UsageError
from kinfolk.core.settings import Flag, setting
from kinfolk.evaluation.rollout import Isolation
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.settings import SLOT_FLAG, EpisodeSettings
from kinfolk.play.slots import PolicySlot
from kinfolk.play.task import EpisodeRunner, RolloutTask
from kinfolk.policies.base import ACTED, find_explainable


class Explain(EpisodeSettings):
    """Select the episode and tick whose actions are explained."""

    world: Annotated[str, Flag(completes="world")] = setting(
        "cogsguard", "World to play in; see `kinfolk worlds`."
    )
    slots: Annotated[tuple[PolicySlot, ...], SLOT_FLAG] = setting(
        (PolicySlot(id="cogs", policy_uri="kin://smart"),),
        "Policies that play; those that explain their actions are explained.",
        min_length=1,
    )
    tick: int = setting(0, "Tick that is explained, from 0.", ge=0)
    agent: int | None = setting(None, "Number of the only agent to show.", ge=0)


@dataclass(frozen=True)
class ActionExplanation:
    """The action of one agent with the policy's reasons for it."""

    uid: int
    slot: str  # id
    action: dict[str, str]  # chosen option by head
    facts: dict[str, str]  # the policy's own state, such as the agent's role
    behavior: str | None  # the one that acted; None: none did
    rejected: tuple[tuple[str, str], ...]  # behaviors considered before, with the reason


def explain_tick(task: RolloutTask[Any], tick: int) -> list[ActionExplanation]:
    """Play the first episode of a task up to `tick` and explain the actions of that tick.

    Raises:
        UsageError: The episode ends before that tick, or no policy gives explanations.
        PolicyFailedError: A policy failed, at this tick or before.
    """
    strict = Isolation(settings=IsolationSettings(on_failure="abort"))
    with EpisodeRunner(replace(task, episodes=task.episodes[:1], observer=strict)) as runner:
        loop = runner.loop
        explainable = [p for slot in loop.slots if (p := find_explainable(slot.policy)) is not None]
        if not explainable:
            raise UsageError(
                "No policy of this episode explains its actions. Role policies do, such as kin://smart."
            )
        for _ in range(tick):
            loop.tick()
            if loop.is_done:
                raise UsageError(
                    f"The episode has {int(loop.world.tick[0])} ticks, counted from 0; there is no tick {tick}."
                )
        for policy in explainable:
            policy.enable_explanations(True)
        try:
            loop.tick()
            return [e for index in range(len(loop.slots)) for e in _explain_slot(loop, index)]
        finally:
            for policy in explainable:
                policy.enable_explanations(False)


def _explain_slot(loop: EpisodeLoop, index: int) -> list[ActionExplanation]:
    """Return the explanations of a slot's last actions; empty if its policy does not explain."""
    policy = find_explainable(loop.slots[index].policy)
    if policy is None or loop.slot_rows.n_rows[index] == 0:
        return []
    slot_rows, slot = loop.slot_rows, loop.slots[index].id
    schema, explanation = policy.explanation_schema, policy.last_explanation()
    heads = loop.world.spec.groups[0].heads
    explanations = []
    for i in range(int(slot_rows.n_rows[index])):
        action = loop.actions[slot_rows.memory_index[index, i]]
        choices = {head.name: head.choices[int(a)] for head, a in zip(heads, action, strict=True)}
        tried = zip(explanation.considered[i], explanation.outcome[i], strict=True)
        outcomes = [(schema.behaviors[int(b)], schema.outcomes[int(v)]) for b, v in tried if b >= 0]
        values = {name: int(explanation.facts[name][i]) for name in schema.facts}
        facts = {
            n: labels[values[n]] if labels else str(values[n]) for n, labels in schema.facts.items()
        }
        behavior = next((name for name, outcome in outcomes if outcome == ACTED), None)
        rejected = tuple(item for item in outcomes if item[1] != ACTED)
        uid = int(slot_rows.uid[index, i])
        explanations.append(ActionExplanation(uid, slot, choices, facts, behavior, rejected))
    return explanations


def find_explanation(explanations: list[ActionExplanation], uid: int) -> ActionExplanation:
    """Return the explanation of one agent.

    Raises:
        UsageError: No agent with this uid acted.
    """
    by_uid = {explanation.uid: explanation for explanation in reversed(explanations)}
    if uid not in by_uid:
        known = ", ".join(str(known_uid) for known_uid in sorted(by_uid))
        raise UsageError(f"No agent {uid} acted in this tick. Known: {known}.")
    return by_uid[uid]
