"""Slots that are judged: their policies may fail, and the game goes on without them.

Both kinds keep the contract of a policy and never raise for what a policy does, with one exception:
when several worlds are played side by side, the first fault raises `Spoilt`, and the episodes are
played again one by one. So what a bad policy does in one episode never reaches another, and a
result does not depend on which episodes were played together.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from kinfolk.core.arrays import Bytes, Ints
from kinfolk.core.errors import PolicyFailedError
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import Explained
from kinfolk.evaluation.care import Care
from kinfolk.evaluation.failures import WHOLE_SLOT, Ledger, abort, explain_policy
from kinfolk.play.registry import SlotRegistry
from kinfolk.policies.base import Memory, MemoryLayout, Policy, Rows
from kinfolk.policies.resolve import ResolvedPolicy

Clock = Callable[[], int]


class Spoilt(PolicyFailedError):  # noqa: N818, a turn in the game more than an error
    """A policy failed while several episodes were played side by side."""


class Together:
    """A slot whose policy lives in this process. A policy that hangs or crashes is not covered.

    Args:
        slot: Its name.
        resolved: The policy.
        spec: Of the world.
        registry: Where policies are loaded, and kept for the next match.
        care: What to do when the policy fails.
        tick: Tells the time of a failure.
        alone: Whether no other episode is played beside it, that a failure would spoil.
        owner: Keeps the policy apart from that of another slot with the same content. Slots that
            shared one would take each other's answers, and fail together.
    """

    def __init__(
        self,
        slot: str,
        resolved: ResolvedPolicy,
        spec: WorldSpec,
        registry: SlotRegistry,
        care: Care,
        tick: Clock,
        alone: bool,
        owner: str = "",
    ) -> None:
        self.ledger = Ledger(slot, resolved.class_path, spec)
        self._resolved, self._spec, self._registry, self._care = resolved, spec, registry, care
        self._tick, self._alone, self._owner = tick, alone, owner
        self._policy: Policy | None = self._load()
        self._layout = self._policy.memory
        self._lives: dict[int, tuple[Rows, Ints]] = {}
        self._rows: Rows | None = None
        self._restarts = 0
        self._again = False
        self.seconds, self.steps = 0.0, 0

    @property
    def inner(self) -> Policy | None:
        """The policy itself, for those who ask it why; None after it failed."""
        return self._policy

    @property
    def memory(self) -> MemoryLayout:
        """What the policy remembers."""
        return self._layout

    def start_episode(self) -> None:
        """Begin an episode: a policy that failed in the last one is made anew."""
        self.ledger.start_episode()
        self._restarts, self._again = 0, False
        self._lives.clear()
        if self._policy is None:
            self._policy = self._load()

    def begin(self, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Lives that start now."""
        if self._care.on_failure == "restart":
            for i, place in enumerate(rows.place.tolist()):
                one = slice(i, i + 1)
                self._lives[place] = Rows(*(c[one].copy() for c in rows)), keys[one].copy()
        if self._policy is not None:
            self._try("begin", lambda policy: policy.begin(rows, memory, keys))

    def ask(self, observations: Bytes, rows: Rows, memory: Memory, keys: Ints) -> None:
        """Forward it, if the policy still plays."""
        self._rows = rows
        if self._again:
            self._restart(rows, memory)
        start = time.perf_counter()
        if self._policy is not None:
            self._try("ask", lambda policy: policy.ask(observations, rows, memory, keys))
        self.seconds += time.perf_counter() - start
        self.steps += len(keys)

    def answer(self) -> Ints:
        """What the policy chose; what agents do that do nothing, where it did not."""
        assert self._rows is not None  # it was asked
        actions: object = None
        start = time.perf_counter()

        def take(policy: Policy) -> None:
            nonlocal actions
            actions = policy.answer()

        if self._policy is not None:
            self._try("answer", take)
        self.seconds += time.perf_counter() - start
        if self._policy is None or self._again:
            return self.ledger.still(self._rows)
        sound = self.ledger.sound(actions, self._rows, len(self._rows.group))
        if self.ledger.faults and not self._alone:
            raise Spoilt(f"Slot '{self.ledger.slot}' gave an answer that is no action.")
        return sound

    def close(self) -> None:
        """The registry keeps the policy for the next match."""

    def _load(self) -> Policy:
        return self._registry.load(self._resolved, self._spec, owner=self._owner)

    def _try(self, method: str, call: Callable[[Policy], None]) -> None:
        assert self._policy is not None
        try:
            call(self._policy)
        except (Exception, SystemExit) as error:
            explained = explain_policy(error)
            self._fail(f"{method} raised {explained.what}", explained)

    def _fail(self, what: str, explained: Explained) -> None:
        policy, self._policy = self._policy, None
        if policy is not None:
            self._registry.forget(policy)
        if not self._alone:
            raise Spoilt(f"Slot '{self.ledger.slot}': {what}.")
        self._again = (
            self._care.on_failure == "restart" and self._restarts < self._care.max_restarts
        )
        note = self.ledger.note(WHOLE_SLOT, self._tick(), "raised", what, explained, self._again)
        if self._care.on_failure == "abort":
            raise abort(note)

    def _restart(self, rows: Rows, memory: Memory) -> None:
        """A new policy, and all that the old one remembered is lost."""
        self._again = False
        self._restarts += 1
        self._policy = self._load()
        for array in memory.values():
            array[rows.place] = 0
        for place in rows.place.tolist():
            life, key = self._lives[place]
            orphan = life._replace(parent_places=life.parent_places * 0 - 1)
            if self._policy is not None:
                self._try("begin", lambda policy: policy.begin(orphan, memory, key))  # noqa: B023
