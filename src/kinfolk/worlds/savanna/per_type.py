"""Settings that have one value per type of agent: `{"type_1_predator": 10.0, ...}`."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from kinfolk.core.settings import Settings


class _PerType(Settings):
    """A plain number stands for the same value in every type."""

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, given: Any) -> Any:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return dict.fromkeys(cls.model_fields, given)
        return given


class PredatorValues(_PerType):
    """A number per type of predator."""

    type_1_predator: float = 0.0
    type_2_predator: float = 0.0


class PreyValues(_PerType):
    """A number per type of prey."""

    type_1_prey: float = 0.0
    type_2_prey: float = 0.0


class Values(_PerType):
    """A number per type of agent."""

    type_1_predator: float = 0.0
    type_2_predator: float = 0.0
    type_1_prey: float = 0.0
    type_2_prey: float = 0.0


class PredatorChances(_PerType):
    """A chance per type of predator."""

    type_1_predator: float = Field(default=1.0, ge=0.0, le=1.0)
    type_2_predator: float = Field(default=1.0, ge=0.0, le=1.0)


class PreyChances(_PerType):
    """A chance per type of prey."""

    type_1_prey: float = Field(default=1.0, ge=0.0, le=1.0)
    type_2_prey: float = Field(default=1.0, ge=0.0, le=1.0)


class PredatorAges(_PerType):
    """An age in steps per type of predator; None or a negative number means no limit."""

    type_1_predator: int | None = None
    type_2_predator: int | None = None


class Ages(_PerType):
    """An age in steps per type of agent; None or a negative number means no limit."""

    type_1_predator: int | None = None
    type_2_predator: int | None = None
    type_1_prey: int | None = None
    type_2_prey: int | None = None
