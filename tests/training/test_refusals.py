"""Error messages for wrong configurations, in full."""

import pytest
from small_trainings import TINY, TWO

from kinfolk.core.errors import UsageError
from kinfolk.core.settings import merge_settings, validate_settings
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.state import build_plan, initial_state

FROZEN = {"policy_uri": "kin://noop", "trainable": False}
CASES = {
    "two slots with one id": (
        {"slots": [{"id": "a", "policy_uri": "kin://mlp"}, {"id": "a", "policy_uri": "kin://mlp"}]},
        "Two slots have the id 'a'. Give each slot its own id.",
    ),
    "a map that names an unknown slot": (
        {"agent_slot_map": {"grazer": "hrd"}, "slots": TWO["slots"]},
        "The slot map names no known slot 'hrd'. Did you mean 'herd'? Known: herd, pack.",
    ),
    "a map of the wrong length": (
        {"agent_slot_map": ["main", "main"]},
        "The slot map has 2 entries; world probe starts with 8 agents and has 16 rows. Give a slot for each "
        "agent at the start, for each row, or for each group.",
    ),
    "a map of an unknown group": (
        {"agent_slot_map": {"grazr": "main"}},
        "World probe has no group 'grazr'. Did you mean 'grazer'? Known: grazer, hunter.",
    ),
    "no trainable slot": (
        {"slots": {"a": FROZEN}},
        "No slot is trainable, so there is nothing to train. Set trainable = true for one of: a.",
    ),
    "an unknown loss": (
        {"loss_profiles": {"p": ["ppo"]}},
        "The loss profile 'p' lists an unknown loss 'ppo'. "
        "Known: ppo_actor, ppo_critic, kickstarter, cloner. A loss of your own is listed by its "
        "import path, such as mylosses.entropy_floor.",
    ),
    "an imitation loss without a teacher": (
        {"loss_profiles": {"p": ["ppo_actor", "ppo_critic", "cloner"]}},
        "The loss profile 'p' lists 'cloner', which no row can use: the profile is that of 'main', "
        "and 'cloner' needs a teacher. Add [teachers.main] with teacher = 'SLOT', or take 'cloner' "
        "out of the profile.",
    ),
    "an imitation loss in a profile of slots without a teacher": (
        {
            "slots": {
                "a": {"policy_uri": "kin://mlp", "loss_profile": "all"},
                "b": {**FROZEN, "loss_profile": "lessons"},
            },
            "teachers": {"a": {"teacher": "b", "teacher_led": False}},
            "loss_profiles": {"all": ["ppo_actor", "cloner"], "lessons": ["kickstarter"]},
        },
        "The loss profile 'lessons' lists 'kickstarter', which no row can use: the profile is that "
        "of 'b', and 'kickstarter' needs a teacher. Add [teachers.b] with teacher = 'SLOT', or take "
        "'kickstarter' out of the profile.",
    ),
    "a loss of PPO for slots that do not learn": (
        {
            "slots": {
                "a": {"policy_uri": "kin://mlp", "loss_profile": "all"},
                "b": {**FROZEN, "loss_profile": "ppo"},
            },
            "loss_profiles": {"all": ["ppo_actor"], "ppo": ["ppo_actor"]},
        },
        "The loss profile 'ppo' lists 'ppo_actor', which no row can use: the profile is that of "
        "'b', and 'ppo_actor' is for trainable slots. Set trainable = true, or take 'ppo_actor' out "
        "of the profile.",
    ),
    "settings of a loss that is not listed": (
        {"losses": {"entropy_flor": {"floor": 1.0}}},
        "There are settings in [losses.entropy_flor], and no loss profile lists such a loss. "
        "Known: none.",
    ),
    "settings of a loss in the wrong table": (
        {"losses": {"cloner": {"weight": 1.0}}},
        "The loss 'cloner' reads its settings from [cloner], not from [losses.cloner].",
    ),
    "a loss in a module that is not there": (
        {"loss_profiles": {"p": ["mylossses.floor"]}},
        "'mylossses.floor' cannot be imported: there is no module mylossses.",
    ),
    "a function that is not registered": (
        {"loss_profiles": {"p": ["kinfolk.training.losses.normalize_advantages"]}},
        "The loss profile 'p' lists 'kinfolk.training.losses.normalize_advantages', which is not registered "
        "as a loss. Decorate it with kinfolk.training.losses.register_loss.",
    ),
    "an unknown profile": (
        {"slots": {"a": {"policy_uri": "kin://mlp", "loss_profile": "x"}}},
        "Slot 'a' has the unknown loss profile 'x'. Known: all.",
    ),
    "both uri and class path": (
        {"slots": {"a": {"policy_uri": "kin://mlp", "class_path": "my.Net"}}},
        "Slot 'a' has both policy_uri 'kin://mlp' and class_path 'my.Net'. Give one of them.",
    ),
    "neither uri nor class path": (
        {"slots": {"a": {"trainable": True}}},
        "Slot 'a' has neither policy_uri nor class_path. Give one of them, such as policy_uri "
        "'kin://random'.",
    ),
    "the old shorthand": (
        {"dual_policy": True},
        "There is no setting 'dual_policy'. Write two slots and a map instead: slots = "
        "{student = 'URI', npc = {policy_uri = 'URI', trainable = false}}, agent_slot_map = "
        "['student', ..., 'npc', ...] with one entry per agent.",
    ),
    "a script to be trained": (
        {"slots": {"a": "kin://random"}},
        "Slot 'a' is trainable, and kin://random is not a net that can be trained. Use kin://mlp, "
        "kin://conv, kin://gru or kin://net, or set trainable = false.",
    ),
    "turns longer than the round": (
        {"slots": {"a": {"policy_uri": "kin://mlp", "train_every": 2, "train_for": 3}}},
        "Slot 'a' trains for 3 of every 2 updates; train_for can be at most train_every.",
    ),
    "a process of its own": (
        {"slots": {"a": {"policy_uri": "kin://mlp", "isolate": "slot"}}},
        "Slot 'a' has isolate = 'slot'; training runs policies in its own processes. Leave isolate "
        "out, or evaluate with kinfolk eval.",
    ),
    "the net of a slot that is not there": (
        {"slots": {"a": "kin://mlp", "b": "slot:c"}},
        "Slot 'b' shares the net of 'c', which is no slot with a net of its own. Known: a.",
    ),
    "training the net of a frozen slot": (
        {
            "slots": {
                "a": {"policy_uri": "kin://mlp", "trainable": False},
                "b": "kin://mlp",
                "c": "slot:a",
            }
        },
        "Slot 'c' is trainable and shares the net of 'a', which is not. Set trainable = false.",
    ),
    "a learning rate for the net of another slot": (
        {"slots": {"a": "kin://mlp", "b": {"policy_uri": "slot:a", "learning_rate": 0.1}}},
        "Slot 'b' has learning_rate = 0.1, and shares the net of 'a', whose settings apply. Set "
        "learning_rate of 'a'.",
    ),
    "a learning rate for a net that does not learn": (
        {"slots": {"a": "kin://mlp", "b": {**FROZEN, "learning_rate": 0.1}}},
        "Slot 'b' has learning_rate = 0.1, and is not trainable. Take it out, or set trainable = true.",
    ),
    "patience without a score": (
        {"slots": {"a": "kin://mlp", "b": "kin://mlp"}, "patience": 3, "evaluation": {"every": 1}},
        "patience waits for a better score, and learners that play each other have none that can be "
        "compared: set evaluation.metric, or play all but one of them by a fixed policy in "
        "evaluation.slots.",
    ),
    "a baseline for a slot that is not there": (
        {"evaluation": {"every": 1, "baselines": {"idle": {"mian": "kin://noop"}}}},
        "evaluation.baselines.idle has a policy for 'mian', which is no slot of the training. Did you "
        "mean 'main'? Known: main.",
    ),
    "an evaluation of nobody": (
        {"evaluation": {"every": 1, "slots": {"main": "kin://noop"}}},
        "evaluation.slots replaces every slot that learns, so that nothing is evaluated.",
    ),
    "a device that the net cannot use": (
        {"slots": {"a": {"policy_uri": "kin://mlp", "device": "cuda"}}},
        "Slot 'a' asks for the device 'cuda', which is not available: policies play and learn on the "
        "CPU. Set device = 'cpu'.",
    ),
    "chunks that do not divide": (
        {"worlds": 4, "n_chunks": 3},
        "4 worlds cannot be split into 3 equal chunks.",
    ),
    "nobody to teach": (
        {"teachers": {"mian": {"teacher": "main"}}},
        "[teachers.mian] has no student: no trainable slot is called 'mian'. "
        "Did you mean 'main'? Known: main.",
    ),
    "no teacher": (
        {"slots": {"a": "kin://mlp", "b": FROZEN}, "teachers": {"a": {"teacher": "a"}}},
        "The teacher of 'a' must be another slot, not 'a'. Known: b.",
    ),
    "a pool of an unknown slot": (
        {"opponent_pool": {"slot": "b", "source_slot": "main"}},
        "The opponent pool names an unknown slot 'b'. Known: main.",
    ),
    "a pool for a slot that learns": (
        {"slots": TWO["slots"], "opponent_pool": {"slot": "herd", "source_slot": "pack"}},
        "An opponent pool needs a slot that is not trainable and a source_slot that is; "
        "'herd' and 'pack' are not so.",
    ),
    "a convolution without a window": (
        {"slots": {"a": "kin://conv"}},
        "A convolution needs a window with the same planes in all groups of the world; "
        "this world has none. Use kin://mlp.",
    ),
    "an unknown critic": (
        {"slots": {"a": "kin://mlp?critic=own"}},
        "The critic is 'shared', 'separate' or 'team', not 'own'.",
    ),
    "a setting that there is not": (
        {"ppo": {"gama": 0.9}},
        "Train.ppo has no setting 'gama'.",
    ),
}


def start(values):
    settings = validate_settings(Train, values)
    initial_state(settings, build_plan(settings).resolved)


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_configuration_is_refused_with_its_message(name):
    change, message = CASES[name]
    with pytest.raises(UsageError) as error:
        start(merge_settings(TINY, change))
    if name == "a setting that there is not":
        assert str(error.value).startswith(message)
    else:
        assert str(error.value) == message


def test_a_checkpoint_whose_shapes_do_not_fit_the_world(tmp_path):
    from kinfolk.policies.build import build_policy
    from kinfolk.policies.resolve import resolve
    from kinfolk.store.arrays import PolicyFile, write_policy
    from kinfolk.worlds import build_world

    resolved = resolve("kin://mlp?hidden=[16]")
    arrays = build_policy(resolved, build_world("probe", {}, 1).spec).arrays()
    write_policy(
        tmp_path / "net.safetensors", PolicyFile(resolved.class_path, resolved.settings, arrays)
    )
    uri = f"file:{tmp_path}/net.safetensors"
    settings = validate_settings(Train, {**TINY, "world": "gym:CartPole-v1", "slots": {"a": uri}})
    with pytest.raises(UsageError) as error:
        initial_state(settings, build_plan(settings).resolved)
    assert str(error.value) == (
        "The weights 'body.0.weight' have shape (16, 24); MlpPolicy in world gym:CartPole-v1 needs (16, 8)."
    )
