"""Policies of runs as targets of a best response: which side and world they belong to."""

import pytest
from small_trainings import TWO

import kinfolk as kf
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.settings import validate_settings
from kinfolk.jobs.exploit.origins import find_origin, require_own_sides, take_world
from kinfolk.jobs.exploit.settings import Exploit
from kinfolk.jobs.exploit.targets import find_targets, read_targets
from kinfolk.jobs.tournament.submissions import read_submissions

RULES = {"max_ticks": 20}
SIDES = {"herd": ["grazer"], "pack": ["hunter"]}

# On one worker, or each would train the league again.
pytestmark = pytest.mark.xdist_group("league")


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    """Evolved nets of grazers, beside hunters that do not move."""
    folder = tmp_path_factory.mktemp("runs") / "nets"
    kf.evolve_nets("probe", world_settings=RULES, fixed={"hunter": "kin://noop"}, population=2,
                   generations=1, hidden=(), steps=2, held_out_episodes=0, out=folder)  # fmt: skip
    return folder


def settings_of(found, **changes):
    return validate_settings(Exploit, {**found, **changes})


def test_policies_of_one_side_are_written_with_its_name_before_theirs():
    assert read_submissions(["prey/last=run:a/prey@league/prey-3", "still=kin://noop"]) == {
        "policies": {"prey": {"last": "run:a/prey@league/prey-3"}, "still": "kin://noop"}
    }
    sources = ["type_1_prey/a=kin://grazer", "type_1_prey/b=kin://noop", "prey=kin://random"]
    assert read_submissions(sources)["policies"]["type_1_prey"] == {
        "a": "kin://grazer", "b": "kin://noop",
    }  # fmt: skip


def test_the_last_nets_of_a_league_play_their_sides_in_its_world(league):
    found = take_world(
        read_targets([f"herd/last=run:{league}/herd", f"pack/last=run:{league}@league/pack-1"]), ()
    )
    assert found == {
        "world": "probe", "world_settings": RULES, "sides": SIDES, "exchange_sides": False,
        "policies": {"herd": {"last": f"run:{league}/herd"},
                     "pack": {"last": f"run:{league}@league/pack-1"}},
    }  # fmt: skip
    settings = settings_of(found, response="hunter")
    require_own_sides(settings)
    targets = find_targets(settings)
    assert (targets.labels, targets.mixtures) == (["last (herd)", "last (pack)"], [{0: 1}, {1: 1}])
    assert targets.responses == [1], "a group's name means its side"


def test_a_world_that_is_given_is_not_replaced(league):
    found = read_targets([f"herd/last=run:{league}/herd"])
    for given in ("world", "preset", "world_settings"):
        assert take_world(found, [given]) == found
    assert "sides" not in take_world(found, ["sides"])


def test_policies_of_different_worlds_need_the_world_to_be_given(league, nets, tmp_path):
    kf.train(**{**TWO, "worlds": 2, "rollout_length": 4, "steps": 8}, out=tmp_path / "other")
    found = read_targets([f"a=run:{league}/herd", f"b=run:{tmp_path / 'other'}/herd"])
    with pytest.raises(UsageError) as error:
        take_world(found, ())
    assert str(error.value) == (
        f"The policies of {league} and {tmp_path / 'other'} come from different worlds. Say which one "
        f"they are to play: --world WORLD, with --preset and --set if it has any."
    )


def test_a_net_that_would_play_a_side_it_did_not_learn_is_refused(league):
    uri = f"run:{league}@league/herd_exploiter-1"
    assert find_origin(uri).played == ["grazer"]
    with pytest.raises(SettingsError) as error:
        require_own_sides(settings_of({"world": "probe", "policies": {"mine": uri}}))
    assert str(error.value) == (
        f"Policy 'mine' learnt to play grazer in {league}, and would play hunter too. Give every side "
        f"policies of its own: grazer/mine={uri} and hunter/NAME=URI."
    )
    wrong = {"hunter": {"mine": uri}, "grazer": {"still": "kin://noop"}}
    with pytest.raises(SettingsError) as error:
        require_own_sides(settings_of({"world": "probe", "policies": wrong}))
    assert str(error.value) == (
        f"Policy 'mine' learnt to play grazer in {league}, and would play hunter. Give every side "
        f"policies of its own: grazer/mine={uri} and hunter/NAME=URI."
    )
    with pytest.raises(SettingsError, match="and would play hunter too"):
        kf.exploit(f"mine={uri}", steps=1)


def test_a_policy_of_a_run_that_is_written_as_a_path_is_recognised(league):
    with pytest.raises(UsageError) as error:
        read_targets([f"{league}@league/herd-1"])
    assert str(error.value) == (
        f"There is no folder or file {league}@league/herd-1, of policies or of one. The policy of a run "
        f"is written run:{league}@league/herd-1."
    )


def test_evolved_nets_are_exploited_beside_the_policies_that_did_not_evolve(nets):
    found = read_targets([nets])
    assert found == {
        "world": "probe", "world_settings": RULES, "exchange_sides": False,
        "policies": {"grazer": {"grazer": f"run:{nets}/grazer"}, "hunter": {"fixed": "kin://noop"}},
    }  # fmt: skip
    targets = find_targets(settings_of(found))
    assert targets.mixtures == [{0: 1.0}, {1: 1.0}]
    assert find_origin(f"run:{nets}").played == ["grazer"]


def test_the_run_of_another_job_is_refused_with_what_would_be_right(tmp_path):
    kf.evaluate("probe", episodes=1, out=tmp_path / "eval")
    with pytest.raises(UsageError) as error:
        read_targets([tmp_path / "eval"])
    assert str(error.value) == (
        f"{tmp_path / 'eval'} is a run of evaluate, not of a training or of an evolution of nets. Give "
        f"single policies as run:{tmp_path / 'eval'}/NAME."
    )
