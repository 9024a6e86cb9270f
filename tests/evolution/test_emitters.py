"""Emitters of the CMA-ME family fill an archive, and continue exactly where they stopped."""

import json

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError, UnknownNameError
from kinfolk.evolution import EmitterSearch, GeneratorPop, MapElitesArchive
from kinfolk.evolution.emitters import EMITTERS
from kinfolk.evolution.search import MapElitesSearch
from kinfolk.evolution.states import OptimizerState
from kinfolk.nets import FeedforwardStaticNets

pytestmark = pytest.mark.more  # pyribs compiles its kernels anew in every process
CELLS, RANGES = [10, 10], [(-1.0, 1.0), (-1.0, 1.0)]


def population():
    return GeneratorPop(FeedforwardStaticNets(16, 2, 2, (2,), key=1, sigma=0.01))


def make_search(kind, pop, key=3, **changed):
    options = {"n_emitters": 2, "min_fitness": -50.0 if kind == "annealing" else None} | changed
    return EmitterSearch(kind, CELLS, RANGES, pop, key=key, **options)


def play(search, pop, generations):
    """Play generations whose behaviour is two means of parameters and fitness their smallness."""
    drawn = []
    for number in range(generations):
        search.prepare(pop)
        params = pop.get_params()
        drawn.append(params)
        measures = np.stack([params[:, :6].mean(axis=1), params[:, 6:].mean(axis=1)], axis=1)
        search.advance(pop, -(params**2).sum(axis=1), measures, number)
    return np.array(drawn)


@pytest.mark.parametrize("kind", EMITTERS)
def test_a_restored_search_continues_as_if_never_stopped(kind):
    pop = population()
    search = make_search(kind, pop)
    play(search, pop, 40)  # long enough for restarts from elites
    state = search.state_dict()
    text = json.loads(json.dumps(state.values))  # as it lies on the disk
    other_pop = population()
    other_pop.next_uid = pop.next_uid
    other = make_search(kind, other_pop, key=99)
    other.load_state_dict(OptimizerState(state.arrays, text))
    assert np.array_equal(play(search, pop, 20), play(other, other_pop, 20))
    assert np.array_equal(
        search.archive.fitness_grid(), other.archive.fitness_grid(), equal_nan=True
    )
    assert (search.restarts > 0) == (kind in ("improvement", "random-direction"))
    assert search.restarts == other.restarts


def test_improvement_emitters_fill_more_cells_than_mutation_and_optimizing_ones_climb_higher():
    filled, best = {}, {}
    for kind in EMITTERS:
        pop = population()
        search = make_search(kind, pop)
        play(search, pop, 60)
        filled[kind], best[kind] = search.archive.num_elites, search.archive.obj_max
    pop = population()
    mutation = MapElitesSearch(MapElitesArchive(CELLS, RANGES), pop.nets)
    play(mutation, pop, 60)
    assert filled["improvement"] > 2 * mutation.archive.num_elites
    assert filled["improvement"] > filled["optimizing"]
    assert best["optimizing"] > best["improvement"]


def test_thresholds_of_annealing_keep_bad_members_from_the_emitters_archive():
    pop = population()
    search = make_search("annealing", pop, min_fitness=1.0)  # better than any member
    play(search, pop, 3)
    assert len(search._emitter_archive) == 0
    assert search.archive.num_elites > 0
    other = make_search("annealing", population(), min_fitness=1.0)
    other.load_state_dict(search.state_dict())
    assert other.archive.num_elites == search.archive.num_elites


def test_nets_of_many_parameters_have_a_separable_covariance():
    pop = GeneratorPop(FeedforwardStaticNets(4, 30, 2, (16,), key=1))
    search = make_search("improvement", pop)
    assert type(search._emitters[0]._opt).__name__ == "SeparableCMAEvolutionStrategy"


def test_numbers_that_do_not_fit_are_refused():
    pop = population()
    with pytest.raises(UnknownNameError) as unknown:
        make_search("improvment", pop)
    assert str(unknown.value) == (
        "No emitter is named 'improvment'. Did you mean 'improvement'? "
        "Known: improvement, random-direction, optimizing, annealing."
    )
    with pytest.raises(SettingsError) as uneven:
        make_search("improvement", pop, n_emitters=3)
    assert str(uneven.value) == (
        "16 members cannot be divided among 3 emitters with at least 2 members each."
    )
    for kind, min_fitness in (("annealing", None), ("improvement", 1.0)):
        with pytest.raises(SettingsError) as wrong:
            make_search(kind, pop, min_fitness=min_fitness)
        assert str(wrong.value) == (
            "Annealing emitters need a min_fitness, and the others have none."
        )
