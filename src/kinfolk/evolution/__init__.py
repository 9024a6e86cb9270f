"""Populations, selection and search; knows neither roles nor worlds, and nets by a Protocol only."""

from __future__ import annotations

from kinfolk.evolution.populations import BasePop, GAConfig, GeneratorDiscriminatorPop, GeneratorPop

__all__ = ["BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop"]
