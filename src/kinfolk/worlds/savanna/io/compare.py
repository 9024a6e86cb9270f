"""Comparison of recorded values with those of a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-9  # absolute, of rewards and energies


@dataclass(frozen=True)
class TraceDifference:
    """The first difference between a trace and its replay in kinfolk.

    Attributes:
        step: Step of the trace, -1 for the reset.
        agent: Agent, grass patch or counter that differs.
        field: What differs.
        expected: Value in the trace.
        got: Value in the replay.
    """

    step: int
    agent: str
    field: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        """Return the difference as a sentence."""
        return (
            f"Step {self.step}, {self.agent}: {self.field} should be {self.expected!r} "
            f"and is {self.got!r}."
        )


class Comparison:
    """Compare values and count them."""

    def __init__(self) -> None:
        self.n_values = 0

    def equal(
        self, t: int, agent: str, field: str, expected: Any, got: Any
    ) -> Iterator[TraceDifference]:
        """Yield a difference unless the values are equal.

        Args:
            t: Step.
            agent: Agent, grass patch or counter.
            field: Name of the value.
            expected: Value in the trace.
            got: Value in the replay.
        """
        self.n_values += 1
        if expected != got:
            yield TraceDifference(t, agent, field, expected, got)

    def close(
        self, t: int, agent: str, field: str, expected: Any, got: Any
    ) -> Iterator[TraceDifference]:
        """Yield a difference unless the numbers are equal within `TOLERANCE`.

        Args:
            t: Step.
            agent: Agent, grass patch or counter.
            field: Name of the value.
            expected: Value in the trace.
            got: Value in the replay, None if it has none.
        """
        self.n_values += 1
        comparable = isinstance(expected, int | float) and isinstance(got, int | float)
        if not comparable or not abs(expected - got) <= TOLERANCE:
            yield TraceDifference(t, agent, field, expected, got)

    def nested(
        self, t: int, agent: str, field: str, expected: Any, got: Any
    ) -> Iterator[TraceDifference]:
        """Yield the differences between two JSON values: keys, lengths, types and numbers.

        Args:
            t: Step.
            agent: Agent, grass patch or counter.
            field: Name of the value.
            expected: Value in the trace, in which infinity is the text "inf".
            got: Value in the replay.
        """
        if expected == "inf":
            expected = float("inf")
        if isinstance(expected, Mapping) and isinstance(got, Mapping):
            for key in sorted({*expected, *got}):
                if key not in expected or key not in got:
                    name = f"{field}.{key}"
                    yield TraceDifference(t, agent, name, expected.get(key), got.get(key))
                else:
                    yield from self.nested(t, agent, f"{field}.{key}", expected[key], got[key])
        elif isinstance(expected, list) and isinstance(got, list):
            yield from self.equal(t, agent, f"{field}.length", len(expected), len(got))
            for i, (theirs, ours) in enumerate(zip(expected, got, strict=True)):
                yield from self.nested(t, agent, f"{field}[{i}]", theirs, ours)
        elif isinstance(expected, float) and isinstance(got, int | float):
            if expected == got:
                self.n_values += 1
            else:
                yield from self.close(t, agent, field, expected, got)
        else:
            yield from self.equal(t, agent, field, expected, got)
