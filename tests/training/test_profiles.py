"""Loss filtering: closed by default, masks over the whole batch that never chain."""

import numpy as np
import pytest

from kinfolk.core.errors import SettingsError
from kinfolk.training.losses import LOSSES
from kinfolk.training.profiles import LossProfiles

BUILT_IN = ("ppo_actor", "ppo_critic", "kickstarter", "cloner")


def rows(profile, trainable=None, alive=None, labeled=None):
    count = len(profile)
    columns = {
        "loss_profile_id": np.array(profile, dtype=np.int16),
        "is_trainable_agent": np.array(trainable or [True] * count),
        "alive": np.array(alive or [True] * count),
    }
    if labeled is not None:
        columns["teacher_action"] = np.where(labeled, 0, -1)[:, None]
    return columns


def test_loss_filtering():
    profiles = LossProfiles({"learn": ["ppo_actor", "ppo_critic"], "copy": ["cloner"], "none": []})
    batch = rows([0, 1, 2, 0], labeled=[True, True, True, False])
    assert profiles.losses == ["ppo_actor", "ppo_critic", "cloner"]  # kickstarter: closed
    masks = {loss: profiles.mask(loss, batch).tolist() for loss in profiles.losses}
    assert masks == {
        "ppo_actor": [True, False, False, True],
        "ppo_critic": [True, False, False, True],
        "cloner": [False, True, False, False],
    }


def test_without_profiles_there_is_one_with_all_losses():
    profiles = LossProfiles({})
    assert profiles.names == ["all"]
    assert profiles.losses == [*BUILT_IN]
    assert all(profiles.includes(0, loss) for loss in BUILT_IN)


def test_rows_of_frozen_slots_and_dead_rows_are_outside():
    batch = rows([0, 0, 0], trainable=[True, False, True], alive=[True, True, False],
                 labeled=[True] * 3)  # fmt: skip
    profiles = LossProfiles({})
    assert profiles.mask("ppo_actor", batch).tolist() == [True, False, False]
    assert profiles.mask("cloner", batch).tolist() == [True, True, False]  # a teacher may be frozen


def test_imitation_losses_need_labels_of_a_teacher():
    assert not LossProfiles({}).mask("cloner", rows([0, 0])).any()
    assert LossProfiles({}).mask("cloner", rows([0, 0], labeled=[True, False])).tolist() == [
        True,
        False,
    ]


def test_names_of_earlier_systems_are_aliases():
    profiles = LossProfiles({"a": ["sliced_kickstarter", "sliced_scripted_cloner"]})
    assert [loss for loss in LOSSES if profiles.includes(0, loss)] == ["kickstarter", "cloner"]


def test_unknown_losses_and_profiles_are_refused():
    with pytest.raises(SettingsError) as error:
        LossProfiles({"mine": ["ppo_actr"]})
    assert str(error.value) == (
        "The loss profile 'mine' lists an unknown loss 'ppo_actr'. Did you mean 'ppo_actor'? "
        "Known: ppo_actor, ppo_critic, kickstarter, cloner. A loss of your own is listed by its "
        "import path, such as mylosses.entropy_floor."
    )
    with pytest.raises(SettingsError) as error:
        LossProfiles({"mine": []}).profile_id("pack", "mien")
    assert str(error.value) == (
        "Slot 'pack' has the unknown loss profile 'mien'. Did you mean 'mine'? Known: mine."
    )
