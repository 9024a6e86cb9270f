"""What a world gives to replays is checked: a spec that contradicts itself and frames that do not fit."""

import re
from dataclasses import replace

import numpy as np
import pytest

from kinfolk.core.errors import ContractError
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.slots import LoadedSlot, build_slot_assignment
from kinfolk.policies.base import NoopPolicy
from kinfolk.replay.codec import MAGIC
from kinfolk.replay.record import ReplayRecorder
from kinfolk.testing.contracts.world import WorldContract
from kinfolk.testing.matrix_game import MatrixGame, MatrixGameSettings
from kinfolk.worlds.render import AgentAttribute, CellLayer, Symbol
from kinfolk.worlds.render_check import CheckedRenderer

LAYERS = (CellLayer("kind", "code", ("ground", "tree")),)


class Duel(MatrixGame):
    """A game of two rows on a map of two cells, whose spec and frames a test can change."""

    spec_changes: dict = {}  # noqa: RUF012, replaced by tests
    frame_changes: dict = {}  # noqa: RUF012, replaced by tests

    @property
    def render_spec(self):
        return replace(super().render_spec, layers=LAYERS, **self.spec_changes)

    def render_frame(self, world):
        return super().render_frame(world)._replace(**self.frame_changes)


def render(monkeypatch, spec_changes=None, frame_changes=None):
    monkeypatch.setattr(Duel, "spec_changes", spec_changes or {})
    monkeypatch.setattr(Duel, "frame_changes", frame_changes or {})
    duel = Duel(MatrixGameSettings())
    duel.reset(np.zeros(1, np.int64))
    return CheckedRenderer(duel).render(0, with_values=True)


def test_a_frame_that_fits_is_returned_as_it_is(monkeypatch):
    frame = render(monkeypatch)
    assert frame.agent_cell.tolist() == [0, 1]
    assert frame.attributes.tolist() == [[-1, -1]]


@pytest.mark.parametrize(
    ("spec_changes", "frame_changes", "problem"),
    [
        ({"series": ("score/won",)}, {"series": np.zeros(2)}, " gave 2 series; render_spec names 1: score/won"),
        ({}, {"series": np.zeros(1)}, " gave 1 series; render_spec names 0"),
        ({}, {"series": [1.0]}, ": series have type list, expected an array (0,): [series]"),
        ({}, {"cells": np.zeros(2, np.uint8)}, ": cells have shape (2,), expected (1, 2): [layers, height * width]"),
        ({}, {"cells": np.zeros((1, 2))}, ": cells have type float64, expected uint8"),
        ({}, {"cells": np.full((1, 2), 7, np.uint8)}, ": layer 'kind' holds code 7, expected 0 to 1: ground, tree"),
        ({}, {"attributes": np.zeros(2, np.int64)}, ": attributes have shape (2,), expected (1, 2): [attributes, rows]"),
        ({}, {"attributes": np.zeros((1, 2))}, ": attributes have type float64, expected whole numbers, such as int64"),
        ({}, {"agent_cell": np.zeros(3, np.int64)}, ": agent_cell has shape (3,), expected (2,): [rows]"),
        ({}, {"agent_cell": np.array([0, 2])}, ": agent 1 is in cell 2, expected 0 to 1, row * width + column"),
    ],
)  # fmt: skip
def test_a_frame_that_does_not_fit_its_spec_names_the_class_the_line_and_what_is_right(
    monkeypatch, spec_changes, frame_changes, problem
):
    sentence = re.escape(f"Duel.render_frame{problem} (test_render_check.py:")
    with pytest.raises(ContractError, match=rf"^{sentence}\d+ in render_frame\)\.$"):
        render(monkeypatch, spec_changes, frame_changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"view_radius": (3,)}, ".view_radius is (3,); expected one number of cells per group (player_0, player_1)"),
        ({"width": 0}, ".width is 0; expected a whole number from 1 on"),
        ({"series": "won"}, ".series is 'won'; expected a tuple of str"),
        ({"series": ("won",)}, ".series has 'won'; expected 'chart/line', such as 'won/all'"),
        ({"series": ("a/b", "a/b")}, ".series names 'a/b' twice"),
        ({"attributes": (AgentAttribute("a", drawn_as="sise"),)},
         ": attribute 'a' cannot have drawn_as 'sise'. Did you mean 'size'? Known: size, letter, cross, hidden"),
        ({"attributes": (AgentAttribute("a", drawn_as="letter"),)},
         ": attribute 'a' has drawn_as 'letter' and no labels, whose symbols have the letters"),
        ({"attributes": (AgentAttribute("a", scale=0.0),)},
         ": attribute 'a' has the scale 0.0; expected a number above 0"),
        ({"symbols": (Symbol("player_0", "red"),)},
         ": symbol 'player_0' cannot have the colour 'red'. Known: blue, vermillion, green, orange, sky,"
         " purple, yellow, grey, grass"),
        ({"symbols": (Symbol("player_0", shape="wall"),)},
         ": symbol 'player_0' cannot have the shape 'wall'. Known: circle, triangle, square, diamond"),
        ({"symbols": (Symbol("tree", shape="square"),)},
         ": symbol 'tree' cannot have the shape 'square'. Known: ground, wall, amount, tile, stock, diamond"),
    ],
)  # fmt: skip
def test_a_spec_that_cannot_be_drawn_is_refused(monkeypatch, changes, problem):
    sentence = re.escape(f"Duel.render_spec{problem} (test_render_check.py:")
    with pytest.raises(ContractError, match=rf"^{sentence}\d+ in render_spec\)\.$"):
        render(monkeypatch, changes)


@pytest.mark.parametrize(
    ("layers", "problem"),
    [
        ((), ".layers lacks the kinds of cells: CellLayer('kind', 'code', ('ground',))"),
        ((CellLayer("kind", "code"),), ": layer 'kind' has 0 labels; expected 1 to 32"),
        ((*LAYERS, CellLayer("area", "bits", tuple("abcdef"))), ": layer 'area' has 6 labels; expected 1 to 5"),
        ((*LAYERS, CellLayer("amount", "amount")), ": layer 'amount' has the max_value 0; expected 1 to 255"),
        ((*LAYERS, CellLayer("owner", "codes", ("a",))),
         ": layer 'owner' cannot have the encoding 'codes'. Did you mean 'code'? Known: code, amount, bits"),
    ],
)  # fmt: skip
def test_layers_that_cannot_be_drawn_are_refused(monkeypatch, layers, problem):
    monkeypatch.setattr(f"{__name__}.LAYERS", layers)
    sentence = re.escape(f"Duel.render_spec{problem} (test_render_check.py:")
    with pytest.raises(ContractError, match=rf"^{sentence}\d+ in render_spec\)\.$"):
        render(monkeypatch)


def test_an_error_in_the_world_s_own_method_is_its_failure(monkeypatch):
    monkeypatch.setattr(Duel, "render_frame", lambda self, world: self.grid[world])
    sentence = (
        r"^Duel\.render_frame failed: AttributeError: 'Duel' object has no attribute 'grid' \(test_"
    )
    with pytest.raises(ContractError, match=sentence):
        render(monkeypatch)


def test_a_frame_that_does_not_fit_is_not_recorded_even_later_in_an_episode(monkeypatch):
    duel = Duel(MatrixGameSettings(max_ticks=3))
    slots, table = (
        [LoadedSlot("all", NoopPolicy(duel.spec))],
        build_slot_assignment(duel.spec, ["all"]),
    )
    loop = EpisodeLoop(duel, slots, table, 0, range(1))
    recorder = ReplayRecorder(loop, {})
    assert recorder.start().startswith(MAGIC)
    monkeypatch.setattr(Duel, "frame_changes", {"series": np.array([1.0, 2.0])})
    with pytest.raises(
        ContractError, match=r"^Duel\.render_frame gave 2 series; render_spec names 0 \("
    ):
        recorder.record_tick()


class TestContract:
    def test_the_contract_fails_for_a_frame_that_does_not_fit(self, monkeypatch):
        monkeypatch.setattr(Duel, "frame_changes", {"attributes": np.zeros(2, np.int64)})
        with pytest.raises(
            ContractError, match=r"^Duel\.render_frame: attributes have shape \(2,\)"
        ):
            WorldContract().test_its_frames_fit_its_render_spec(self.make)

    def test_the_contract_fails_for_a_frame_that_is_a_view_of_the_state(self, monkeypatch):
        def render_frame(self, world):
            return super(Duel, self).render_frame(world)._replace(attributes=self._state.choice[:1])

        monkeypatch.setattr(Duel, "render_frame", render_frame)
        with pytest.raises(AssertionError, match=r"^attributes is no copy"):
            WorldContract().test_a_frame_does_not_change_when_the_world_does(self.make)

    def test_the_contract_skips_a_world_that_cannot_be_recorded(self, monkeypatch):
        monkeypatch.setattr(Duel, "render_spec", None)
        with pytest.raises(
            pytest.skip.Exception, match=r"^Duel has no render_spec, so it cannot be recorded\.$"
        ):
            WorldContract().test_its_frames_fit_its_render_spec(self.make)

    @staticmethod
    def make(n_worlds):
        return Duel(MatrixGameSettings(max_ticks=9), n_worlds)
