import numpy as np
import pytest

from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.random import seed_key
from kinfolk.evolution.selection import check_fitness, rank_descending, tournament, truncation


def test_truncation_selects_the_better_half_twice():
    assert truncation([3.0, 1.0, 2.0, 4.0]).tolist() == [3, 0, 3, 0]


@pytest.mark.parametrize("size", [2, 3, 5, 7, 64])
def test_truncation_works_with_any_population_size(size):
    chosen = truncation(np.arange(size, dtype=float))
    assert len(chosen) == size
    assert set(chosen.tolist()) == set(range(size // 2, size))


def test_elites_come_first_and_equals_keep_their_order():
    assert truncation([1.0, 1.0, 1.0, 1.0]).tolist() == [0, 1, 0, 1]
    assert truncation([1.0, 9.0, 5.0, 2.0], elites=1).tolist() == [1, 1, 2, 1]
    with pytest.raises(SettingsError) as caught:
        truncation([1.0, 2.0], elites=2)
    assert str(caught.value) == "Elites must be fewer than the 2 members, and at least 0, not 2."


def test_a_tournament_of_everybody_is_won_by_the_best_and_of_one_by_anybody():
    fitness = np.arange(40, dtype=float)
    winners = tournament(fitness, 400, seed_key(1))
    assert set(winners.tolist()) == {39}
    drawn = tournament(np.tile(fitness, 100), 1, seed_key(1)) % 40
    assert np.bincount(drawn, minlength=40).min() > 50
    pair = tournament(fitness, 2, seed_key(1), elites=3)
    assert pair[:3].tolist() == [39, 38, 37]
    assert pair.mean() > 22


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "select", [truncation, rank_descending, lambda f: tournament(f, 2, seed_key(1))]
)
def test_selection_names_the_member_whose_fitness_is_not_finite(select, bad):
    with pytest.raises(ContractError) as caught:
        select([1.0, bad, 2.0])
    assert str(caught.value) == (
        f"Member 1 has the fitness {bad}. A fitness must be a finite number."
    )


@pytest.mark.parametrize(("wrong", "shape"), [([], "(0,)"), (3.0, "()"), ([[1.0, 2.0]], "(1, 2)")])
@pytest.mark.parametrize(
    "select", [truncation, rank_descending, lambda f: tournament(f, 2, seed_key(1))]
)
def test_selection_refuses_other_shapes(select, wrong, shape):
    with pytest.raises(ContractError) as caught:
        select(wrong)
    assert str(caught.value) == (
        f"Fitness must be one number per member, for at least 1 member, "
        f"not an array of shape {shape}."
    )


def test_strings_are_refused_as_fitness():
    with pytest.raises(ContractError) as caught:
        truncation(["good", "bad"])
    assert str(caught.value) == (
        "Fitness must be one number per member: could not convert string to float: 'good'."
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_check_fitness_names_the_member_and_its_population(bad):
    with pytest.raises(ContractError) as caught:
        check_fitness([1.0, 2.0, bad], [7, 8, 9], "prey")
    assert str(caught.value) == (
        f"Member 2 (uid 9) of population 'prey' has the fitness {bad}. "
        f"A fitness must be a finite number."
    )
