"""Settings of slots, the assignment of agents, the registry, and every error message of them."""

import numpy as np
import pytest
from safetensors.numpy import save

from kinfolk.core.errors import SettingsError, UnknownNameError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.evaluate import Evaluate
from kinfolk.play.loop import EpisodeLoop
from kinfolk.play.settings import SlotConfig
from kinfolk.play.slots import (
    Founders,
    LoadedSlot,
    PolicySlot,
    SlotRegistry,
    build_slot_assignment,
    parse_slot,
)
from kinfolk.policies.base import NoopPolicy
from kinfolk.testing.inspection import play_to_end
from kinfolk.testing.probe.state import Probe
from kinfolk.testing.probe.world import ProbeWorld

SPEC = ProbeWorld(Probe()).spec
FOUR = ProbeWorld(Probe(rows=4, grazers=2, hunters=2)).spec
SMALLER = ProbeWorld(Probe(max_ticks=5)).spec


def assign(config, spec):
    return build_slot_assignment(spec, config.slot_ids, config.slot_map_for("probe"))


def test_without_settings_one_trainable_slot_plays_everybody():
    config = SlotConfig()
    [main] = config.slots
    assert (main.id, main.policy_uri, main.trainable) == ("main", "kin://random", True)
    assert assign(config, SPEC).tolist() == [[0] * 16, [0] * 16]
    config.require_trainable()


def test_a_map_by_agent_assigns_rows_to_teacher_and_student():
    config = validate_settings(SlotConfig, {
        "slots": [{"id": "teacher", "class_path": "kinfolk.policies.base.NoopPolicy", "trainable": False},
                  {"id": "student", "policy_uri": "kin://random"}],
        "agent_slot_map": ["teacher", "teacher", "student", "student"],
    })  # fmt: skip
    assert assign(config, FOUR).tolist() == [[0, 0, 1, 1]] * 2
    by_number = config.model_copy(update={"agent_slot_map": (0, 0, 1, 1)})
    assert assign(by_number, FOUR).tolist() == [[0, 0, 1, 1]] * 2


def test_a_map_by_group_and_another_for_one_world():
    config = validate_settings(SlotConfig, {
        "slots": {"herd": "kin://noop", "pack": "kin://random"},
        "agent_slot_map": {"predator": "pack"},
        "world_slot_maps": {"probe": {"hunter": "pack"}},
    })  # fmt: skip
    assert assign(config, FOUR).tolist() == [[0] * 4, [1] * 4]
    assert config.slot_map_for("savanna") == {"predator": "pack"}


def test_a_list_may_have_the_agents_at_the_start_only():
    # Rows 0 and 1 are grazers, 2 is a hunter; the others are empty at the start.
    founders = Founders(np.array([0, 1, 2]), np.array([0, 0, 1]))
    table = build_slot_assignment(FOUR, ["a", "b", "c"], ["b", "a", "c"], founders)
    assert table.tolist() == [[1, 0, 2, 1], [1, 0, 2, 2]], "row 3 as the first agent of its group"
    with pytest.raises(SettingsError) as refused:
        build_slot_assignment(SPEC, ["a", "b"], ["a", "b"], founders)
    assert str(refused.value) == (
        "The slot map has 2 entries; world probe starts with 3 agents and has 16 rows. Give a slot for "
        "each agent at the start, for each row, or for each group."
    )


def test_maps_of_environments_are_by_index_in_python_and_in_files():
    slots = {"herd": "kin://noop", "pack": "kin://noop"}
    maps = {0: {"hunter": "pack"}, "2": ["pack"] * 8, "probe": {"grazer": "pack"}}
    config = validate_settings(Evaluate, {"slots": slots, "world_slot_maps": maps})
    assert config.environment_slot_maps == {0: {"hunter": "pack"}, 2: ["pack"] * 8}
    assert config.slot_map_for("probe") == {"grazer": "pack"}
    assert validate_settings(Evaluate, config.model_dump()) == config
    with pytest.raises(SettingsError) as refused:
        validate_settings(Evaluate, {"slots": slots, "world_slot_maps": {7: {}}, "episodes": 7})
    assert str(refused.value) == (
        "world_slot_maps has a map for environment 7; the episodes of the evaluation are 0 to 6."
    )
    with pytest.raises(SettingsError, match="world_slot_maps names no known world 'savana'"):
        validate_settings(Evaluate, {"slots": slots, "world_slot_maps": {"savana": {}}})


def test_the_command_lines_form_fills_the_right_field():
    assert parse_slot("a", "class:my.Policy").class_path == "my.Policy"
    assert parse_slot("a", "kin://noop").policy_uri == "kin://noop"
    slot = parse_slot(
        "a", "class:my.Policy?depth=2,isolate=slot,trainable=false,learning_rate=0.01"
    )
    assert slot.policy_uri == "class:my.Policy?depth=2"
    assert (slot.isolate, slot.trainable, slot.learning_rate) == ("slot", False, 0.01)


def test_slots_are_serialized_without_their_defaults():
    config = validate_settings(
        SlotConfig, {"slots": {"a": "kin://noop", "b": "kin://random,trainable=false"}}
    )
    written = config.model_dump()
    assert written["slots"] == {
        "a": "kin://noop",
        "b": {"policy_uri": "kin://random", "trainable": False},
    }
    assert validate_settings(SlotConfig, written) == config


REFUSED = [
    ({"slots": [{"id": "a", "policy_uri": "kin://noop"}] * 2},
     "Two slots have the id 'a'. Give each slot its own id."),
    ({"slots": [{"policy_uri": "kin://noop"}]},
     "A slot in a list needs an id; this one has none: {'policy_uri': 'kin://noop'}."),
    ({"slots": {"a": {"policy_uri": "kin://noop", "class_path": "my.Policy"}}},
     "Slot 'a' has both policy_uri 'kin://noop' and class_path 'my.Policy'. Give one of them."),
    ({"slots": {"a": {"trainable": False}}},
     "Slot 'a' has neither policy_uri nor class_path. Give one of them, such as policy_uri 'kin://random'."),
    ({"slots": {"": "kin://noop"}}, "A slot needs an id that is not empty."),
    ({"slots": {"a": 3}}, "Slot 'a' must be a URI or a table, not 3."),
    ({"slots": "kin://noop"}, "SlotConfig.slots must be a table or a list of slots, not 'kin://noop'."),
    ({"slots": {"a": {"policy_uri": "kin://noop", "trainble": True}}},
     "PolicySlot has no setting 'trainble'. Did you mean 'trainable'? Known: id, policy_uri, class_path, "
     "policy_kwargs, trainable, loss_profile, device, isolate, train_every, train_for, learning_rate."),
    ({"slots": {"a": "kin://noop,isolate=cell"}},
     "PolicySlot.isolate must be 'none', 'slot' or 'agent', not 'cell'."),
    ({"slots": {"a": "kin://noop,train_every=0"}}, "PolicySlot.train_every must be at least 1, not 0."),
    ({"agent_slot_map": "main"}, "A slot map is a table of groups or a list of agents, not 'main'."),
    ({"dual_policy": {"enabled": True}},
     "There is no setting 'dual_policy'. Write two slots and a map instead: slots = {student = 'URI', "
     "npc = {policy_uri = 'URI', trainable = false}}, agent_slot_map = ['student', ..., 'npc', ...] "
     "with one entry per agent."),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "sentence"), REFUSED)
def test_wrong_settings_of_slots_are_refused(settings, sentence):
    with pytest.raises(SettingsError) as refused:
        validate_settings(SlotConfig, settings)
    assert str(refused.value) == sentence


def test_the_old_shorthand_is_refused_by_every_job_with_slots():
    with pytest.raises(
        SettingsError, match=r"^There is no setting 'dual_policy'\. Write two slots"
    ):
        validate_settings(Evaluate, {"dual_policy": {}})


MAPS = [
    (["herd"] * 3, SettingsError, "The slot map has 3 entries; world probe has 16 rows."),
    (["herd"] * 15 + ["hred"], SettingsError,
     "The slot map names no known slot 'hred'. Did you mean 'herd'? Known: herd, pack."),
    ([0] * 15 + [2], SettingsError, "The slot map names slot number 2; there are 0 to 1."),
    ({"grazr": "herd"}, UnknownNameError,
     "World probe has no group 'grazr'. Did you mean 'grazer'? Known: grazer, hunter."),
]  # fmt: skip


@pytest.mark.parametrize(("mapping", "error", "sentence"), MAPS)
def test_a_wrong_map_is_refused(mapping, error, sentence):
    config = validate_settings(SlotConfig, {"slots": {"herd": "kin://noop", "pack": "kin://noop"}})
    with pytest.raises(error) as refused:
        assign(config.model_copy(update={"agent_slot_map": mapping}), SPEC)
    assert str(refused.value) == sentence


def test_training_needs_a_trainable_slot():
    config = validate_settings(SlotConfig, {"slots": {"a": "kin://noop,trainable=false"}})
    with pytest.raises(SettingsError) as refused:
        config.require_trainable()
    assert str(refused.value) == (
        "No slot is trainable, so there is nothing to train. Set trainable = true for one of: a."
    )


def slot(name, uri, **settings):
    return PolicySlot(id=name, policy_uri=uri, **settings)


def test_policies_are_cached_by_content_and_not_by_the_name_of_a_slot(tmp_path):
    registry = SlotRegistry()
    first = registry.get(slot("a", "kin://probe-gru?seed=3"), SPEC)
    assert registry.get(slot("b", "kin://probe-gru", policy_kwargs={"seed": 3}), SPEC) is first
    assert registry.get(slot("a", "kin://probe-gru?seed=4"), SPEC) is not first
    assert registry.get(slot("a", "kin://probe-gru?seed=3"), SMALLER) is not first, "another world"
    path = tmp_path / "w.safetensors"
    path.write_bytes(save(gru_weights()))
    loaded = registry.get(slot("a", f"kin://probe-gru?weights={path}"), SPEC)
    assert registry.get(slot("a", f"kin://probe-gru?weights={path}"), SPEC) is loaded
    path.write_bytes(save(gru_weights(2)))
    assert registry.get(slot("a", f"kin://probe-gru?weights={path}"), SPEC) is not loaded


def test_in_training_a_trainable_slot_has_a_policy_of_its_own():
    registry = SlotRegistry(training=True)
    mine = registry.get(slot("a", "kin://probe-gru"), SPEC)
    assert registry.get(slot("a", "kin://probe-gru"), SPEC) is mine
    assert registry.get(slot("b", "kin://probe-gru"), SPEC) is not mine
    frozen = registry.get(slot("c", "kin://probe-gru", trainable=False), SPEC)
    assert registry.get(slot("d", "kin://probe-gru", trainable=False), SPEC) is frozen
    assert frozen is not mine


class Counting(NoopPolicy):
    """Counts how often it is initialized to a world, and how often it is closed."""

    initialized: list = []  # noqa: RUF012, shared by all on purpose
    closed: list = []  # noqa: RUF012

    def initialize_to_environment(self, world_spec):
        self.initialized.append(world_spec)

    def close(self):
        self.closed.append(self)


def test_a_policy_is_initialized_to_its_world_once_per_load(monkeypatch):
    monkeypatch.setattr("kinfolk.policies.base.NoopPolicy", Counting)
    Counting.initialized.clear()
    Counting.closed.clear()
    registry = SlotRegistry(max_policies=1)
    for _ in range(3):
        registry.get(slot("a", "kin://noop"), SPEC)
    assert Counting.initialized == [SPEC]
    registry.get(slot("a", "kin://noop"), SMALLER)
    assert Counting.initialized == [SPEC, SMALLER]
    assert len(registry) == 1
    assert len(Counting.closed) == 1, "only one is kept, so the first had to go"
    registry.close()
    assert len(Counting.closed) == 2


def test_a_policy_that_cannot_move_stays_on_the_cpu():
    with pytest.raises(SettingsError) as refused:
        SlotRegistry().get(slot("a", "kin://noop", device="cuda"), SPEC)
    assert str(refused.value) == (
        "kinfolk.policies.base:NoopPolicy cannot be moved to device 'cuda', because it has no "
        "method `to`. Set device = 'cpu'."
    )


def test_one_policy_may_play_two_slots_of_a_game():
    def results(shared):
        world = ProbeWorld(Probe(), 2)
        registry = SlotRegistry(training=not shared)
        slots = [
            LoadedSlot(n, registry.get(slot(n, "kin://probe-gru"), world.spec)) for n in ("a", "b")
        ]
        assert (slots[0].policy is slots[1].policy) == shared
        table = build_slot_assignment(world.spec, ["a", "b"], {"hunter": "b"})
        return play_to_end(EpisodeLoop(world, slots, table, 3, range(3)))

    assert results(shared=True) == results(shared=False)


def gru_weights(factor=1):
    from kinfolk.testing.probe.policies.neural import ProbeGruPolicy

    return {name: w.detach().numpy() * factor for name, w in ProbeGruPolicy(SPEC)._weights.items()}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"out.bias": np.zeros(7, np.float32)},
         "The weights 'out.bias' have shape (7,); probe-gru in world probe needs (5,)."),
        ({"out.bias": None}, "The weights have no 'out.bias', which probe-gru needs."),
        ({"out.bais": np.zeros(5, np.float32)},
         "probe-gru has no weight 'out.bais'. Did you mean 'out.bias'? Known: cell.weight_ih, "
         "cell.weight_hh, cell.bias_ih, cell.bias_hh, out.weight, out.bias."),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused(tmp_path, change, sentence):
    weights = {n: w for n, w in {**gru_weights(), **change}.items() if w is not None}
    (tmp_path / "w.safetensors").write_bytes(save(weights))
    with pytest.raises(UsageError) as refused:
        SlotRegistry().get(slot("a", f"kin://probe-gru?weights={tmp_path}/w.safetensors"), SPEC)
    assert str(refused.value) == sentence
