"""Populations, selection, evolution strategies and archives; independent of worlds.

Every name is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.imports import export_lazily

if TYPE_CHECKING:
    from kinfolk.evolution.archive import MapElitesArchive
    from kinfolk.evolution.base import BasePop, GAConfig
    from kinfolk.evolution.emitters import EmitterSearch
    from kinfolk.evolution.loop import Generation, evaluate_members, evolve
    from kinfolk.evolution.novelty import NoveltyArchive
    from kinfolk.evolution.populations import GeneratorDiscriminatorPop, GeneratorPop
    from kinfolk.evolution.search import GeneticOptions
    from kinfolk.evolution.selection import tournament, truncation
    from kinfolk.evolution.speciation import assign_species, draw_mates, select_in_species
    from kinfolk.evolution.strategies import STRATEGIES, make_strategy

__all__ = ["STRATEGIES", "BasePop", "GAConfig", "GeneratorDiscriminatorPop", "GeneratorPop"]
__all__ += ["EmitterSearch", "Generation", "GeneticOptions", "MapElitesArchive", "NoveltyArchive"]
__all__ += ["assign_species", "draw_mates", "evaluate_members", "evolve", "make_strategy"]
__all__ += ["select_in_species", "tournament", "truncation"]

export_lazily(__name__)
