"""Populations, selection, evolution strategies and MAP-Elites; independent of worlds and nets."""

from __future__ import annotations

from kinfolk.evolution.populations import BasePop, GAConfig, GeneratorDiscriminatorPop, GeneratorPop

__all__ = ["BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop"]
