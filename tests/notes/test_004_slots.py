"""The design note on dual and NPC policies, statement by statement, through its own names."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import kinfolk as kf
from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.training.losses import LOSSES

NET = "kin://mlp?hidden=[16]"
SCRIPT = "kinfolk.policies.base.RandomPolicy"
TINY = {"world": "probe", "worlds": 4, "rollout_length": 16,
        "ppo": {"minibatch_size": 64, "n_epochs": 2}}  # fmt: skip
STUDENT = {"id": "student", "policy_uri": NET}
TEACHER = {"id": "teacher", "policy_uri": "kin://probe-python", "trainable": False}
TWO = {**TINY, "policy_slots": [STUDENT, TEACHER],
       "agent_slot_map": {"grazer": "student", "hunter": "teacher"}}  # fmt: skip
BOTH = {**TINY, "policy_slots": [{"id": "a", "policy_uri": NET}, {"id": "b", "policy_uri": NET}],
        "agent_slot_map": {"grazer": "a", "hunter": "b"}}  # fmt: skip
FOUR = {"n_initial_active_type_1_predator": 2, "n_initial_active_type_1_prey": 2}
PPO = ["ppo_actor", "ppo_critic"]
# The note's short example: student trainable, teacher scripted, a map of four agents.
EXAMPLE = """
world = "cogsguard"
world_settings = { agents = 4, max_steps = 40 }
agent_slot_map = ["teacher", "teacher", "student", "student"]

[[policy_slots]]
id = "student"
policy_uri = "URI"
trainable = true

[[policy_slots]]
id = "teacher"
class_path = "kinfolk.policies.base.RandomPolicy"
trainable = false
"""


def refused(**changes):
    with pytest.raises(UsageError) as caught:
        kf.Trainer(**{**TWO, **changes}).close()
    return str(caught.value)


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


def actor(weights):
    return {name: a for name, a in weights.items() if "critic" not in name}


def learn_once(poison=None, **settings):
    """Return the weights of all learners before and after one update, and its statistics."""
    with kf.Trainer(**settings) as trainer:
        before = {
            n: {k: a.copy() for k, a in w.items()} for n, w in trainer.state.weights().items()
        }
        rollout = trainer.collect()
        if poison is not None:
            rows = rollout.slots[poison]
            rows["reward"][:] = 1e4 * np.arange(len(rows["reward"]))
        stats = trainer.learn(rollout)
        return before, trainer.state.weights(), stats, rollout


@pytest.fixture
def kinfolk(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert left.value.code == 0, err
        return json.loads(out)

    return call


def test_01_policy_slot_has_the_fields_of_the_note():
    """Fields: `id`, `policy_uri|class_path`, `policy_kwargs`, `trainable: bool`, optional `loss_profile`, optional `device`."""
    slot = kf.PolicySlot(id="npc", policy_uri=NET, policy_kwargs={"seed": 3}, trainable=False,
                         loss_profile="ppo", device="cpu")  # fmt: skip
    assert (slot.id, slot.policy_uri, slot.class_path, slot.trainable) == ("npc", NET, None, False)
    assert (slot.policy_kwargs, slot.loss_profile, slot.device) == ({"seed": 3}, "ppo", "cpu")
    for both in ({}, {"policy_uri": NET, "class_path": SCRIPT}):
        with pytest.raises(SettingsError, match=r"Slot 'a' has (neither|both) policy_uri"):
            kf.PolicySlot(id="a", **both)


def test_02_ids_are_unique_a_slot_is_trainable_and_the_map_names_known_slots():
    """Validation: unique ids; at least one trainable slot for training; slots referenced by the map must exist."""
    twice = refused(policy_slots=[STUDENT, {**TEACHER, "id": "student"}])
    assert twice == "Two slots have the id 'student'. Give each slot its own id."
    frozen = refused(policy_slots=[{**STUDENT, "trainable": False}, TEACHER])
    assert frozen.startswith("No slot is trainable, so there is nothing to train.")
    unknown = refused(agent_slot_map={"grazer": "pupil"})
    assert unknown.startswith("The slot map names no known slot 'pupil'.")


def test_03_policy_slots_are_accepted_in_training_evaluation_and_files(kinfolk, tmp_path):
    """`trainer_cfg.policy_slots: list[PolicySlot]`"""
    slots = [kf.PolicySlot(**STUDENT), kf.PolicySlot(**TEACHER)]
    with kf.Trainer(**{**TWO, "policy_slots": slots}) as trainer:
        assert list(trainer.collect().slots) == ["student", "teacher"]
    played = kf.evaluate(
        "probe", policy_slots=slots, agent_slot_map=TWO["agent_slot_map"], episodes=1
    )
    assert list(played.returns) == ["student", "teacher"]
    (tmp_path / "note.toml").write_text(EXAMPLE.replace("URI", NET) + "\n")
    document = kinfolk("eval", "--config", "note.toml", "--episodes", "1", "--json")
    assert list(document["settings"]["slots"]) == ["student", "teacher"]
    assert "two names of one table" in refused(slots={"a": NET})


def test_04_the_map_lists_one_slot_for_each_agent_by_id_or_number(tmp_path):
    """`agent_slot_map: list[str|int]` of length `num_agents` mapping each agent index to a slot id."""
    result = kf.evaluate(
        "savanna", world_settings={**FOUR, "max_steps": 60}, episodes=2, out=tmp_path / "run",
        slots={"pack": "kin://random", "one": "kin://grazer", "two": "kin://grazer"},
        agent_slot_map=["pack", 0, "one", 2],
    )  # fmt: skip
    agents = result.run.table("agents")
    rows = list(zip(agents["uid"], agents["group"], agents["slot"], strict=True))
    assert [slot for uid, _, slot in rows if uid < 4] == ["pack", "pack", "one", "two"] * 2
    newborn = {slot for uid, group, slot in rows if uid >= 4 and group == "type_1_prey"}
    assert newborn == {"one", "two"}, "a newborn takes the slot of its parent"
    with pytest.raises(SettingsError, match="has 3 entries; world savanna starts with 4 agents"):
        kf.evaluate("savanna", world_settings=FOUR, agent_slot_map=[0, 0, 0])


@pytest.mark.parametrize("n_chunks", [1, 2])
def test_05_the_map_can_be_overridden_for_single_environments(n_chunks, tmp_path):
    """`agent_slot_map` ... of length `num_agents` (or per-env override)"""
    with kf.Trainer(
        **{**BOTH, "n_chunks": n_chunks}, world_slot_maps={0: {}, 3: {"grazer": "b"}}
    ) as t:
        rollout = t.collect()
        rows = {slot: rollout.slots[slot]["memory_index"] // 16 for slot in "ab"}
        groups = {slot: rollout.slots[slot]["group"] for slot in "ab"}
        played = {w: [set(groups[s][rows[s] == w].tolist()) for s in "ab"] for w in range(4)}
    assert played == {0: [{0, 1}, set()], 1: [{0}, {1}], 2: [{0}, {1}], 3: [{1}, {0}]}
    lives = []
    for chunk_size in (1, 3):
        result = kf.evaluate(
            "probe", policy_slots={"a": "kin://noop", "b": "kin://random"}, episodes=3,
            agent_slot_map={"hunter": "b"}, world_slot_maps={1: ["b"] * 8}, chunk_size=chunk_size,
            out=tmp_path / f"run{chunk_size}",
        )  # fmt: skip
        lives.append(result.run.table("episodes")["lives.a"])
    assert lives[0] == lives[1]
    assert [n > 0 for n in lives[0]] == [True, False, True]


def test_06_without_slots_there_is_one_called_main_for_all_agents():
    """If `policy_slots` absent, synthesize one slot (`main`); default: all agents → first slot."""
    with kf.Trainer(**TINY) as trainer:
        assert [slot.id for slot in trainer.settings.slots] == ["main"]
        assert set(trainer.collect().slots["main"]["group"].tolist()) == {0, 1}
    with kf.Trainer(**{**BOTH, "agent_slot_map": None}) as trainer:
        rollout = trainer.collect()
        assert (len(rollout.slots["a"]["uid"]) > 0, len(rollout.slots["b"]["uid"])) == (True, 0)


def test_07_loss_profiles_name_the_losses_that_run():
    """Introduce `loss_profiles` map: name → set of losses to run."""
    slots = [{**STUDENT, "policy_uri": f"{NET}&critic=separate", "loss_profile": "values"}, TEACHER]
    before, after, stats, _ = learn_once(
        **{**TWO, "policy_slots": slots}, loss_profiles={"ppo": PPO, "values": ["ppo_critic"]}
    )
    assert same(actor(before["student"]), actor(after["student"]))
    assert not same(before["student"], after["student"])
    assert "value_loss" in stats["student"]
    assert "entropy" not in stats["student"]


def test_08_the_registry_loads_scripts_and_nets_and_caches_by_descriptor():
    """`SlotRegistry.get(slot, policy_env_info, device) -> Policy`. Caches by descriptor."""
    spec, registry = kf.make("probe").spec, kf.SlotRegistry()
    slots = [kf.PolicySlot(id=name, policy_uri=NET) for name in "ab"]
    one, two = (registry.get(slot, policy_env_info=spec, device="cpu") for slot in slots)
    assert one is two
    script = registry.get(kf.PolicySlot(id="c", class_path=SCRIPT), spec, "cpu")
    assert type(script).__name__ == "RandomPolicy"


def test_09_the_registry_calls_initialize_to_environment(tmp_path, monkeypatch):
    """Loads ...; calls `initialize_to_environment`."""
    (tmp_path / "note_004_npc.py").write_text(
        "from kinfolk.policies.base import NoopPolicy\n"
        "class Npc(NoopPolicy):\n"
        "    seen = []\n"
        "    def initialize_to_environment(self, policy_env_info):\n"
        "        self.seen.append(policy_env_info.world)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    slot, registry = kf.PolicySlot(id="npc", class_path="note_004_npc.Npc"), kf.SlotRegistry()
    for _ in range(2):
        policy = registry.get(slot, policy_env_info=kf.make("probe").spec)
    assert policy.seen == ["probe"]


def test_10_another_device_than_the_cpu_is_refused_by_name(tmp_path):
    """Fields: ... optional `device`."""
    slots = [{**STUDENT, "device": "cuda:7"}]
    for run in (kf.train, kf.evaluate):
        with pytest.raises(SettingsError) as caught:
            run("probe", policy_slots=slots, out=tmp_path / run.__name__)
        assert str(caught.value) == (
            "Slot 'student' asks for the device 'cuda:7', which is not available: policies play and "
            "learn on the CPU. Set device = 'cpu'."
        )


def test_11_rows_carry_slot_profile_and_whether_their_agent_is_trained():
    """During rollout, set per-row `slot_id`, `loss_profile_id`, `is_trainable_agent`."""
    slots = [STUDENT, {**TEACHER, "loss_profile": "none"}]
    with kf.Trainer(**{**TWO, "policy_slots": slots}, loss_profiles={"ppo": PPO, "none": []}) as t:
        rows = t.collect().slots
    for number, name in enumerate(("student", "teacher")):
        assert set(rows[name]["slot_id"].tolist()) == {number}
        assert set(rows[name]["loss_profile_id"].tolist()) == {number}
        assert set(rows[name]["is_trainable_agent"].tolist()) == {name == "student"}


def test_12_each_policy_is_called_once_and_its_actions_reach_its_agents():
    """Group rows by slot_id, forward each policy once, merge actions/logprobs back."""
    together = kf.evaluate("probe", slots={"a": "kin://noop", "b": "kin://probe-python"}, episodes=2,
                           agent_slot_map={"grazer": "a", "hunter": "b"})  # fmt: skip
    turned = kf.evaluate("probe", slots={"b": "kin://probe-python", "a": "kin://noop"}, episodes=2,
                         agent_slot_map={"grazer": "a", "hunter": "b"})  # fmt: skip
    assert together.returns == {slot: turned.returns[slot] for slot in "ab"}
    assert together.returns["a"] != turned.returns["b"]
    with kf.Trainer(**TWO) as trainer:
        rows = trainer.collect().slots["student"]
        assert (rows["log_prob"] < 0).all()
        assert rows["action"].max() > 0


def test_13_the_example_of_the_note_trains_and_is_evaluated(kinfolk, tmp_path):
    """Two slots (student trainable, teacher scripted), slot map `[teacher, teacher, student, student]`."""
    small = "worlds = 2\nrollout_length = 8\nsteps = 32\n"
    (tmp_path / "train.toml").write_text(small + EXAMPLE.replace("URI", NET))
    document = kinfolk("train", "train.toml", "--out", "run", "--json")
    assert document["result"]["step"] == 32, "rows of the student alone: 2 worlds x 2 agents x 8"
    (tmp_path / "eval.toml").write_text(EXAMPLE.replace("URI", "run:run@latest"))
    evaluated = kinfolk("eval", "--config", "eval.toml", "--episodes", "1", "--json")
    assert [lives[0] for lives in evaluated["summary"]["lives"].values()] == [2.0, 2.0]


def test_14_rows_of_another_profile_never_enter_a_loss():
    """Minibatch rows restricted by `loss_profile_id` and `is_trainable_agent`."""
    net = f"{NET}&critic=separate"
    settings = {
        **BOTH,
        "policy_slots": [
            {"id": "a", "policy_uri": net, "loss_profile": "ppo"},
            {"id": "b", "policy_uri": "slot:a", "loss_profile": "values"},
        ],
        "loss_profiles": {"ppo": PPO, "values": ["ppo_critic"]},
        "ppo": {**TINY["ppo"], "max_grad_norm": 1e30, "n_epochs": 1, "minibatch_size": 100_000},
    }
    _, clean, _, _ = learn_once(**settings)
    _, poisoned, _, _ = learn_once(poison="b", **settings)
    assert same(actor(clean["a"]), actor(poisoned["a"]))
    assert not same(clean["a"], poisoned["a"]), "the critic does learn from them"


def test_15_sliced_losses_need_a_map_and_profiles_alone():
    """Opt-in per loss (split PPO, sliced_kickstarter, sliced_scripted_cloner, etc.)."""
    profiles = {"ppo": PPO, "supervised": ["sliced_kickstarter", "sliced_scripted_cloner"]}
    led = [STUDENT, {**TEACHER, "loss_profile": "supervised"}]
    _, _, stats, rollout = learn_once(**{**TWO, "policy_slots": led}, loss_profiles=profiles)
    assert {"kickstarter", "cloner", "entropy"} <= stats["student"].keys()
    assert "teacher_action" not in rollout.slots["student"], "these agents have PPO only"
    assert set(rollout.slots["teacher"]["learner_slot"].tolist()) == {0}
    own = [{**STUDENT, "loss_profile": "both"}, TEACHER]
    profiles = {"both": [*PPO, "sliced_scripted_cloner"]}
    _, _, stats, rollout = learn_once(**{**TWO, "policy_slots": own}, loss_profiles=profiles)
    assert "cloner" in stats["student"]
    assert (rollout.slots["student"]["teacher_action"] >= 0).all()
    assert set(rollout.slots["teacher"]["learner_slot"].tolist()) == {-1}
    three = [*own, {**TEACHER, "id": "other"}]
    assert refused(policy_slots=three, loss_profiles=profiles).endswith(
        "There are 2 that could teach and 1 that learn: say who teaches whom in [teachers.STUDENT]."
    )


@pytest.mark.parametrize("teacher", ["kin://probe-python", f"{NET}&weights=decided.safetensors"])
def test_16_a_student_is_kickstarted_by_a_scripted_and_by_a_neural_teacher(
    teacher, tmp_path, monkeypatch
):
    """Kickstarter slices remain possible by choosing maps where some agents map to teacher slots."""
    monkeypatch.chdir(tmp_path)
    with kf.Trainer(**TINY, slots={"main": f"{NET}&seed=5"}) as trainer:
        weights = trainer.state.weights()["main"]
    weights["heads.actor.weight"] = 100 * weights["heads.actor.weight"]  # new nets are undecided
    save_file(weights, "decided.safetensors")
    slots = [STUDENT, {**TEACHER, "policy_uri": teacher, "loss_profile": "supervised"}]
    settings = {**TWO, "policy_slots": slots, "ppo": {**TINY["ppo"], "learning_rate": 3e-3},
                "loss_profiles": {"ppo": PPO, "supervised": ["sliced_kickstarter"]}}  # fmt: skip
    with kf.Trainer(**settings) as trainer:
        losses = [trainer.learn(trainer.collect())["student"]["kickstarter"] for _ in range(12)]
    assert losses[-1] < 0.8 * losses[0]


def test_17_a_frozen_npc_net_stays_bit_identical(tmp_path):
    """One slot may be `trainable=False` (frozen NPC)."""
    npc = {"id": "npc", "policy_uri": f"{NET}&seed=4", "trainable": False}
    with kf.Trainer(**{**BOTH, "policy_slots": [{"id": "a", "policy_uri": NET}, npc],
                       "agent_slot_map": {"hunter": "npc"}}) as trainer:  # fmt: skip
        before = trainer.state.policies()
        for _ in range(2):
            trainer.learn(trainer.collect())
        after = trainer.state.policies()
    assert after["npc"].sha256 == before["npc"].sha256
    assert after["a"].sha256 != before["a"].sha256


def test_18_gradients_flow_from_trainable_rows_alone():
    """Gradients flow only from rows where `is_trainable_agent=True`."""
    _, clean, _, rollout = learn_once(**TWO)
    assert set(rollout.slots["teacher"]["learner_slot"].tolist()) == {-1}
    _, poisoned, _, _ = learn_once(poison="teacher", **TWO)
    assert same(clean["student"], poisoned["student"])


def test_19_two_nets_are_trained_together_from_different_draws():
    """Or both trainable (co-training)."""
    before, after, stats, _ = learn_once(**BOTH)
    assert not same(before["a"], before["b"])
    assert set(stats) == {"a", "b"}
    assert not same(before["a"], after["a"])
    assert not same(before["b"], after["b"])


def test_20_optimizer_steps_can_alternate():
    """Optional alternate optimizer steps per binding (config knob)."""
    slots = [{"id": name, "policy_uri": NET, "train_every": 2, "train_for": 1} for name in "ab"]
    with kf.Trainer(**{**BOTH, "policy_slots": slots}) as trainer:
        turns = [list(trainer.learn(trainer.collect())) for _ in range(4)]
    assert turns == [["a"], ["b"], ["a"], ["b"]]


def test_21_metrics_are_grouped_by_slot(kinfolk):
    """Runner loads slots via registry, assigns control per agent, and reports metrics grouped by `slot_id`."""
    slots = {"miners": "kin://role/miner", "idle": "kin://noop"}
    result = kf.evaluate("cogsguard", slots=slots, agent_slot_map=["miners"] * 4 + ["idle"] * 4,
                         episodes=2, world_settings={"max_steps": 100})  # fmt: skip
    mined = sum(result.slot_metrics[f"miners/{e}_mined"].mean for e in ("carbon", "oxygen", "germanium", "silicon"))  # fmt: skip
    assert mined == result.metrics["elements_mined"].mean > 0
    assert result.slot_metrics["idle/moves"].mean == 0 < result.slot_metrics["miners/moves"].mean
    assert set(result.returns) == set(result.return_per_life) == set(result.win_rate) == set(slots)
    document = kinfolk(
        "eval", "--world", "savanna", "--slot", "pack=kin://hunter", "--slot", "herd=kin://grazer",
        "--map", "type_1_predator=pack", "--map", "type_1_prey=herd", "--set", "max_steps=60",
        "--episodes", "2", "--out", "run", "--json",
    )  # fmt: skip
    found = {name: values[0] for name, values in document["summary"]["slot_metrics"].items()}
    episodes = kf.load_run("run").table("episodes")
    counted = {name: np.mean(episodes[f"counters.{name}"]) for name in
               ("spawned_predators", "spawned_prey", "grass_bites", "team_capture_helper_total")}  # fmt: skip
    assert found == {
        "pack/births": counted["spawned_predators"],
        "herd/births": counted["spawned_prey"],
        "pack/meals": counted["team_capture_helper_total"],
        "herd/meals": counted["grass_bites"],
    }


def test_22_scripted_and_neural_policies_meet_head_to_head():
    """Supports head-to-head or mixed scripted/NN eval without new abstractions."""
    result = kf.evaluate("savanna", slots={"pack": "kin://hunter", "herd": NET}, episodes=1,
                         agent_slot_map={"type_1_predator": "pack", "type_1_prey": "herd"},
                         world_settings={"max_steps": 20})  # fmt: skip
    assert result.lives["pack"].mean >= 15 <= result.lives["herd"].mean
    assert list(result.differences) == ["pack - herd"]


def test_23_scripted_policies_load_by_class_path():
    """Scripted policies load via `class_path` through the registry."""
    slots = [{"id": "npc", "class_path": SCRIPT}]
    assert kf.evaluate("probe", policy_slots=slots, episodes=2).failures == 0
    by_uri = kf.evaluate(
        "probe", policy_slots=[{"id": "npc", "policy_uri": "kin://random"}], episodes=2
    )
    assert kf.evaluate("probe", policy_slots=slots, episodes=2).returns == by_uri.returns


def test_24_the_shorthand_dual_policy_is_out():
    """Legacy shorthands like `dual_policy` are out."""
    assert refused(dual_policy=True).startswith("There is no setting 'dual_policy'.")


def test_25_the_split_losses_are_the_only_ppo():
    """Split-loss stack is the default; legacy combined PPO is removed."""
    assert {"ppo_actor", "ppo_critic"} <= LOSSES.keys()
    assert "ppo" not in LOSSES
    _, _, stats, _ = learn_once(**TINY)
    assert {"entropy", "value_loss"} <= stats["main"].keys()


def test_26_a_recipe_trains_with_a_map_and_is_evaluated_against_a_script(kinfolk, tmp_path):
    """E2E: recipe training with slot map + eval vs scripted; CI on CPU."""
    (tmp_path / "recipe.toml").write_text(
        'world = "probe"\nworlds = 2\nrollout_length = 16\nsteps = 400\n'
        'agent_slot_map = ["npc", "npc", "npc", "npc", "pupil", "pupil", "pupil", "pupil"]\n'
        f'[slots]\npupil = "{NET}"\nnpc = {{ policy_uri = "kin://probe-python", trainable = false }}\n'
    )
    assert kinfolk("train", "recipe.toml", "--out", "run", "--json")["result"]["step"] >= 400
    document = kinfolk("eval", "--world", "probe", "--slot", "pupil=run:run@latest", "--slot",
                       "npc=kin://probe-python", "--map", "grazer=pupil", "--map", "hunter=npc",
                       "--episodes", "2", "--json")  # fmt: skip
    assert set(document["summary"]["return_per_life"]) == {"pupil", "npc"}
    assert document["summary"]["failures"] == 0


def test_27_evaluation_within_training_takes_other_slots():
    """`simulation_config`/`eval_config` accept `policy_slots` + `agent_slot_map`."""
    evaluation = {"every": 1, "episodes": 2, "slots": {"b": "kin://noop"},
                  "baselines": {"idle": {"a": "kin://noop"}}}  # fmt: skip
    with kf.Trainer(**BOTH, evaluation=evaluation, steps=1) as trainer:
        [event] = [event for event in trainer if event.kind == "evaluation_done"]
    scripted = kf.evaluate("probe", slots={"a": "kin://noop", "b": "kin://noop"}, episodes=2,
                           agent_slot_map=BOTH["agent_slot_map"], seed=1_000_003)  # fmt: skip
    assert event.baselines["idle"]["returns"] == scripted.returns
    assert event.is_best
    assert event.score == event.return_per_life["a"].mean, "of the slot that still learns"
