"""Mistakes that people make get the command that was probably meant, and that command exists."""

import json
import shlex

import pytest
import typer

from kinfolk.cli.app import app, main
from kinfolk.cli.hints import _list_options, find_command
from kinfolk.cli.mistakes import COMMANDS, OPTIONS

pytest.importorskip("torch", reason="`kinfolk train --help` needs torch")

RUN = ", or ".join(f"kinfolk {name}" for name in ("play", "eval", "train", "evolve roles"))
# What was written, what was wrong with it, and what was meant.
MISTAKES = [
    ("evaluate --world probe", "There is no command 'evaluate'.", "kinfolk eval --world probe"),
    ("run", "There is no command 'run'.", RUN),
    ("simulate savanna", "There is no command 'simulate'.", "kinfolk play --world savanna"),
    ("watch runs/mine", "There is no command 'watch'.", "kinfolk view runs/mine"),
    ("help eval", "There is no command 'help'.", "kinfolk eval --help"),
    ("list", "There is no command 'list'.",
     "kinfolk runs, or kinfolk worlds, or kinfolk policies"),
    ("init policy mine", "There is no command 'init'.", "kinfolk new policy mine"),
    ("new wanderer", "There is no command 'kinfolk new wanderer'.", "kinfolk new policy wanderer"),
    ("--world savanna", "A command comes first, such as play, eval or train.",
     "kinfolk eval --world savanna"),
    ("eval savanna", "kinfolk eval takes no argument 'savanna'.", "kinfolk eval --world savanna"),
    ("eval --episode 3", "kinfolk eval has no option --episode.", "kinfolk eval --episodes 3"),
    ("eval -n 3", "kinfolk eval has no option -n.", "kinfolk eval --episodes 3"),
    ("eval --policy random", "kinfolk eval has no option --policy.",
     "kinfolk eval --slot all=kin://random"),
    ("eval --policy mine.py --seed 3", "kinfolk eval has no option --policy.",
     "kinfolk eval --slot all=file:mine.py --seed 3"),
    ("eval --policy pack=kin://hunter", "kinfolk eval has no option --policy.",
     "kinfolk eval --slot pack=kin://hunter"),
    ("eval --slots all=kin://noop", "kinfolk eval has no option --slots.",
     "kinfolk eval --slot all=kin://noop"),
    ("eval --agent-slot-map prey=a", "kinfolk eval has no option --agent-slot-map.",
     "kinfolk eval --map prey=a"),
    ("eval --world-settings cells=9", "kinfolk eval has no option --world-settings.",
     "kinfolk eval --set cells=9"),
    ("eval --world probe --seeds 5", "kinfolk eval has no option --seeds.",
     "kinfolk sweep eval --world probe --seeds 5"),
    ("eval --world savanna --max-steps 9", "kinfolk eval has no option --max-steps.",
     "kinfolk eval --world savanna --set max_steps=9"),
    ("eval --cells=9", "kinfolk eval has no option --cells.", "kinfolk eval --set cells=9"),
    ("eval --env savanna", "kinfolk eval has no option --env.", "kinfolk eval --world savanna"),
    ("eval --workers 2", "kinfolk eval has no option --workers.", "kinfolk eval --jobs 2"),
    ("eval --output x", "kinfolk eval has no option --output.", "kinfolk eval --out x"),
    ("evolve nets --world savanna", "kinfolk evolve nets has no option --world.",
     "kinfolk evolve nets --task savanna"),
    ("evolve nets --popsize 9", "kinfolk evolve nets has no option --popsize.",
     "kinfolk evolve nets --population 9"),
    ("train --lr 0.1", "kinfolk train has no option --lr.",
     "kinfolk train --ppo.learning-rate 0.1"),
    ("train --gamma 0.9", "kinfolk train has no option --gamma.", "kinfolk train --ppo.gamma 0.9"),
    ("export csv runs/mine", "There is no command 'kinfolk export csv'.",
     "kinfolk export metrics runs/mine"),
    ("sweep eval --vary growth 0.1,0.2 --seeds 2", "kinfolk sweep eval takes no argument '0.1,0.2'.",
     "kinfolk sweep eval --vary growth=0.1,0.2 --seeds 2"),
    ("eval --set cells 9", "kinfolk eval takes no argument '9'.", "kinfolk eval --set cells=9"),
    ("sweep --vary growth=0.1,0.2", "kinfolk sweep needs a command behind it: eval or train or evolve.",
     "kinfolk sweep eval --vary growth=0.1,0.2, or kinfolk sweep train --vary growth=0.1,0.2"),
    ("metrics --world savanna", "kinfolk metrics has no option --world.", "kinfolk metrics savanna"),
    ("metrics lifetime --world=savanna", "kinfolk metrics has no option --world.",
     "kinfolk metrics savanna lifetime"),
    ("settings --world savanna", "kinfolk settings has no option --world.", "kinfolk settings savanna"),
]  # fmt: skip
ROOT = typer.main.get_command(app)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """What a command line prints on stderr; it is wrong, and leaves nothing."""
    monkeypatch.chdir(tmp_path)

    def call(line):
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line))
        said = capsys.readouterr()
        assert (left.value.code, said.out, list(tmp_path.iterdir())) == (2, "", [])
        return said.err

    return call


@pytest.mark.parametrize(("line", "problem", "meant"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_gets_the_command_that_was_meant_and_it_exists(run, line, problem, meant):
    assert run(line) == f"{problem} Did you mean: {meant}\n"
    for suggestion in meant.split(", or "):
        words = shlex.split(suggestion)[1:]
        path, command = find_command(ROOT, words)
        assert not hasattr(command, "commands"), f"{suggestion} is no command"
        flags = {word for word in words[len(path) :] if word.startswith("-")}
        assert flags <= _list_options(command) | {"--help"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("eval --gpu", "kinfolk eval has no option --gpu. Policies play and learn on the CPU; "
                       "--jobs N uses several cores."),
        ("metrics --world", "kinfolk metrics has no option --world. Its options: kinfolk metrics --help"),
        ("presets probe --world savanna",
         "kinfolk presets lists one world or all, not 'probe' and 'savanna'."),
        ("sweep eval --vary growth=0.1,0.3 --metric caught --metric=ticks",
         "--metric was given twice; kinfolk sweep eval takes one. "
         "Panels of several: kinfolk plot RUN --metric caught --metric ticks."),
        ("compare kin://noop kin://random --metric caught --metric ticks",
         "--metric was given twice; kinfolk compare takes one."),
        ("tournament kin://noop --metric return --metric return",
         "--metric was given twice; kinfolk tournament takes one."),
        ("eval --seed 1 --episodes 2 --seed=2 --seed 3",
         "--seed was given 3 times; kinfolk eval takes one."),
        ("runs --root a --root b", "--root was given twice; kinfolk runs takes one."),
        ("export html a --out b --out c", "--out was given twice; kinfolk export html takes one."),
        ("eval --nonsense", "kinfolk eval has no option --nonsense. Its options: kinfolk eval --help"),
        ("new policy", "Missing argument 'name'. For example: kinfolk new policy wanderer"),
        ("metrics", "Missing argument 'world'. For example: kinfolk metrics savanna lifetime"),
        ("eval --out", "Option '--out' requires an argument. For example: kinfolk eval --world "
                       "savanna --slot all=kin://random --episodes 20 --out runs/random"),
        ("eval --resume", "Option '--resume' requires an argument."),
        ("compare kin://noop", "Compare.policies needs at least 2 entries; it has 1. For example: "
                               "kinfolk compare kin://smart kin://random --world cogsguard --episodes 20"),
        ("tournament", "Tournament.policies is missing and has no default. For example: kinfolk "
                       "tournament submissions/ --world cogsguard --preset head_to_head --jobs 2"),
    ],
)  # fmt: skip
def test_a_mistake_without_one_likely_meaning_gets_what_helps(run, line, message):
    assert run(line) == f"{message}\n"


def test_options_that_may_be_repeated_and_flags_still_are(capsys):
    with pytest.raises(SystemExit) as left:
        main(["metrics", "probe", "reward_per_tick", "--json", "--json"])
    assert (left.value.code, json.loads(capsys.readouterr().out)[0]["name"]) == (
        0,
        "reward_per_tick",
    )
    with pytest.raises(
        SystemExit
    ) as left:  # both settings are read, and the first is the wrong one
        main(["eval", "--set", "cells=many", "--set", "rows=9"])
    assert "Probe.cells must be a whole number" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:  # help comes before what is wrong
        main(["runs", "--root", "a", "--root", "b", "--help"])
    assert left.value.code == 0


def test_what_is_suggested_exists_and_what_is_replaced_does_not():
    for name, meant in COMMANDS.items():
        assert name not in ROOT.commands
        for words in meant:
            assert find_command(ROOT, words.split())[0] == words.split()
    leaves = [find_command(ROOT, words)[1] for words in (["eval"], ["train"], ["evolve", "nets"],
              ["tournament"], ["evolve", "roles"])]  # fmt: skip
    known = set().union(*map(_list_options, leaves))
    assert {option for meant in OPTIONS.values() for option in meant} <= known
