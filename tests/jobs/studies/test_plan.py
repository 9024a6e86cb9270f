"""Plans are checked before anything is run; errors name the file, the key, and what would be right."""

import pytest

from kinfolk.core.errors import UsageError
from kinfolk.jobs.studies.checks import check_plan
from kinfolk.jobs.studies.conditions import (
    add_up_seconds,
    count_runs,
    estimate_seconds,
    list_conditions,
    parse_reference,
)
from kinfolk.jobs.studies.plan import hash_plan, parse_plan, read_plan_text
from kinfolk.jobs.studies.settings import Study, describe_origin, require_same_plan


def error_of(text):
    with pytest.raises(UsageError) as caught:
        check_plan("mine", text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "seeds = 8",
            "seeds = 1",
            "mine.toml: seeds = 1 can decide nothing about 2 hypotheses: the smallest p-value of n seeds is "
            "2 / 2^n, and 2 times that (Holm) must be below 0.05. It takes 7 seeds, or fewer hypotheses.",
        ),
        ("seeds = 8", 'seeds = "8"', "mine.toml: seeds must be a whole number, not '8'."),
        ("seeds = 2", "seeds = 1", "mine.toml, quick: seeds must be at least 2, not 1."),
        (
            'job = "eval" ',
            'job = "evaluate" ',
            "mine.toml, stages.play: job is 'evaluate', which no stage can run. Did you mean 'eval'? "
            "Known: eval, train, evolve-roles, evolve-nets.",
        ),
        (
            'world = "probe"',
            'wrold = "probe"',
            "mine.toml, stages.play, condition '0.1': Evaluate has no setting 'wrold'. Did you mean 'world'?",
        ),
        (
            "{ growth = 0.2 }",
            "{ growht = 0.2 }",
            "mine.toml, stages.play, condition '0.2': Probe has no setting 'growht'. Did you mean 'growth'?",
        ),
        (
            'column = "return" ',
            'column = "retrun" ',
            "mine.toml, metrics.earned: There is no metric 'retrun'. Did you mean 'return'?",
        ),
        (
            "trend = true",
            'trend = true\nlevels = ["0.4", "0.2"]',
            "mine.toml, hypotheses[0] (growth): a hypothesis has levels, or trend, or contrast; this one has several.",
        ),
        (
            'levels = ["0.4", "0.2"]',
            'levels = ["0.4", "0.3"]',
            "mine.toml, hypotheses[1] (saturation): factor growth has no level '0.3'.",
        ),
        (
            "smallest = 1.0 ",
            "smallest = 0.0 ",
            "mine.toml, hypotheses[1] (saturation): predict = 'equal' needs smallest: the difference up to which "
            "two means count as equal.",
        ),
        (
            '"kin://random"',
            '"run:runs/mine"',
            "mine.toml, stages.play, condition '0.1': 'run:runs/mine' lies on this machine only. Name a policy "
            "that others have too (kin://..., class:...), or let an earlier stage make it (stage:...).",
        ),
        (
            '"kin://random"',
            '"stage:train/prey"',
            "mine.toml, stages.play, condition '0.1': 'stage:train/prey': no earlier stage that makes policies "
            "is named 'train'.",
        ),
        (
            '"kin://random"',
            '"kin://randm"',
            "mine.toml, stages.play, condition '0.1': No policy is named 'randm'. Did you mean 'random'?",
        ),
        (
            '"kin://random"',
            '"kin://random?speed=3"',
            "mine.toml, stages.play, condition '0.1': RandomPolicy has no setting 'speed'.",
        ),
        (
            'world = "probe"',
            'world = "probe"\nagent_slot_map = { grazer = "herd" }',
            "mine.toml, stages.play, condition '0.1': The slot map names no known slot 'herd'. Known: all.",
        ),
        (
            'world = "probe"',
            'world = "probe"\nagent_slot_map = { grazers = "all" }',
            "mine.toml, stages.play, condition '0.1': World probe has no group 'grazers'. Did you mean "
            "'grazer'? Known: grazer, hunter.",
        ),
        (
            '"kin://random"',
            '"stage:train/prey@150%"',
            "mine.toml, stages.play, condition '0.1': A policy of an earlier stage is written stage:STAGE/SLOT "
            "or stage:STAGE[CONDITION]/SLOT, followed by @first, @latest, @best or a share from @0% to @100%; "
            "not 'stage:train/prey@150%'.",
        ),
        (
            "seconds = { play = 0.1 }",
            "seconds = {}",
            "mine.toml, quick.seconds: the time of play is missing. Write the processor seconds of one quick "
            "run.",
        ),
        (
            'question = """',
            'qeustion = """',
            "mine.toml: a plan has no key 'qeustion' here. Did you mean 'question'? Known: title, question,",
        ),
        (
            "seconds = 0.2 ",
            "secnds = 0.2 ",
            "mine.toml, stages.play: a plan has no key 'secnds' here. Did you mean 'seconds'? Known: job,",
        ),
        (
            'known = "Nothing was measured before."\n',
            "",
            "mine.toml: known is missing and has no default.",
        ),
        (
            '"0.1" = {',
            "0.1 = {",
            'mine.toml, stages.play: factors.growth: write the level in quotes, "0.1" = ...; without them TOML '
            "reads it as a table '0' with a key '1'.",
        ),
        (
            'levels = ["0.4", "0.2"]',
            "levels = [0.4, 0.2]",
            "mine.toml, hypotheses[1] (saturation): levels are written in quotes, not as [0.4, 0.2]. The levels "
            'of growth are: "0.1", "0.2", "0.4".',
        ),
    ],
)
def test_a_wrong_plan_is_refused_with_file_key_and_remedy(change, before, after, message):
    assert error_of(change(before, after)).startswith(message)


def test_a_list_of_very_many_known_names_is_cut_and_says_what_lists_them(change):
    message = error_of(change('world = "probe"', 'world = "savanna"'))
    assert message == (
        "mine.toml, stages.play, condition '0.1': Savanna has no setting 'growth'. Known: max_steps, "
        "on_extinction, max_rows, observation, grid_size, manual_wall_positions, predator_obs_range, "
        "prey_obs_range and 85 more; `kinfolk settings NAME` lists all."
    )


def test_a_text_that_is_no_toml_is_refused():
    assert error_of("seeds = = 8").startswith("mine.toml is not valid TOML: ")


def test_an_unknown_name_suggests_plans_and_says_how_to_give_a_file():
    with pytest.raises(UsageError) as caught:
        read_plan_text("stag_hnut")
    assert str(caught.value).startswith("There is no study 'stag_hnut'. Did you mean 'stag_hunt'?")
    assert str(caught.value).endswith("A plan of your own is given by the path of its .toml file.")


def test_conditions_are_all_combinations_of_levels_and_time_follows_from_runs(tiny, change):
    factor = "[stages.play.factors.growth]\n"
    more = "[stages.play.factors.meal]\nsmall = { world_settings = { meal = 5 } }\nlarge = { world_settings = { meal = 6 } }\n"
    plan = check_plan("mine", change(factor, more + factor))
    conditions = list_conditions(plan, "play")
    assert [c.name for c in conditions[:2]] == ["small / 0.1", "small / 0.2"]
    assert conditions[-1].settings["world_settings"] == {"meal": 6, "growth": 0.4}
    assert count_runs(plan, quick=False) == {"play": 48}
    assert estimate_seconds(plan, quick=False, jobs=2) == pytest.approx(10 + 0.2 * 24)
    assert count_runs(plan, quick=True) == {"play": 12}


def test_progress_goes_by_planned_seconds_since_stages_take_different_times():
    plan = parse_plan(*read_plan_text("red_queen"))
    seconds = add_up_seconds(plan, quick=False)
    assert len(seconds) == 401
    assert seconds[:3] == [0.0, 55.0, 110.0]
    assert seconds[20:22] == [1100.0, 1103.0], "a training takes 55 s, a game of the table 3 s"


def test_a_policy_of_an_earlier_stage_is_named_by_stage_condition_slot_and_version():
    assert parse_reference("kin://random") is None
    assert parse_reference("stage:train/prey").version == "latest"
    assert parse_reference("stage:train[a / b]/prey@first").condition == "a / b"
    with pytest.raises(UsageError, match="not 'stage:train/prey@newest'"):
        parse_reference("stage:train/prey@newest")


def test_a_plan_that_was_changed_after_its_registration_is_refused(tiny, tmp_path):
    study = Study(name="mine", text=tiny)
    assert study.sha256 == hash_plan(tiny)
    with pytest.raises(Exception, match="The plan mine was changed after it was registered"):
        Study(name="mine", text=tiny + "# later", sha256=study.sha256)
    file = tmp_path / "mine.toml"
    file.write_text(tiny)
    require_same_plan(study, str(file))
    file.write_text(tiny + "# later")
    with pytest.raises(UsageError) as caught:
        require_same_plan(study, str(file))
    assert str(caught.value) == (
        f"The run was registered with the plan mine, SHA-256 {study.sha256[:12]}..., and {file} is now "
        f"another one, {hash_plan(tiny + '# later')[:12]}.... Leave out the name to go on with the "
        "registered plan, or start a new study."
    )


def test_the_report_says_whether_a_plan_is_the_one_that_is_shipped(tiny):
    name, text = read_plan_text("stag_hunt")
    assert describe_origin(Study(name=name, text=text)).endswith(
        "as this version of kinfolk ships it."
    )
    changed = describe_origin(Study(name=name, text=text + "# changed"))
    assert changed.startswith("The plan was changed: it is not `stag_hunt`")
    assert describe_origin(Study(name="mine", text=tiny)) == (
        "The plan is not one of those that kinfolk ships."
    )


@pytest.mark.train
@pytest.mark.parametrize(
    ("job", "settings", "message"),
    [
        (
            "train",
            'slots = { all = "kin://hunter" }',
            "Slot 'all' is trainable, and kin://hunter is not a net that can be trained. Use kin://mlp, "
            "kin://conv, kin://gru or kin://net, or set trainable = false.",
        ),
        (
            "train",
            'agent_slot_map = { prey = "main" }',
            "World probe has no group 'prey'. Known: grazer, hunter.",
        ),
        (
            "evolve-nets",
            'fixed = { grazer = "kin://grazr" }',
            "No policy is named 'grazr'. Did you mean 'grazer'?",
        ),
        (
            "evolve-roles",
            "score_step = 1_000_000",
            "EvolveRoles.score_step must lie within a game of ",
        ),
    ],
)
def test_jobs_of_all_kinds_are_checked_as_they_check_themselves_when_they_start(
    change, job, settings, message
):
    world = {"train": 'world = "probe"', "evolve-nets": 'task = "probe"'}.get(
        job, "generations = 2"
    )
    stage = f'[stages.make]\njob = "{job}"\nabout = "x"\nseconds = 1.0\n'
    table = f"[stages.make.settings]\n{world}\n{settings}\n\n[stages.play]"
    text = change("[stages.play]", stage + table)
    where = "mine.toml, stages.make, condition 'all': "
    assert error_of(text).startswith(where + message)
