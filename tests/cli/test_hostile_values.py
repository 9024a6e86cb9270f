"""Values beyond what a machine holds: one message, and never that kinfolk itself failed."""

import json
import os
from pathlib import Path

import pytest

from kinfolk.cli.app import main
from kinfolk.core.errors import SettingsError
from kinfolk.core.random import seed_key
from kinfolk.core.settings import parse_value, validate_settings
from kinfolk.isolation.failures import IsolationSettings
from kinfolk.jobs.evaluate import Evaluate

EVALUATION = ["eval", "--slot", "all=kin://random", "--set", "max_ticks=3", "--episodes", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "sentence", "code"),
    [
        (["--seed", "18446744073709551617"], "Evaluate.seed must be less than 2**63", 2),
        (["--seed", str(2**63)], "Evaluate.seed must be less than 2**63", 2),
        (["--seed", "9" * 5000], "is not a value that can be read", 2),
        (["--set", "rows=99999999999999999999"], "must be less than 2**63", 2),
        (["--set", "rows=" + "[" * 100_000], "is not a value that can be read", 2),
        (["--set", 'rows="\\ud800"'], "is not valid Unicode", 2),
        (["--set", "cells=100000000000"], "This needs more memory than there is: ", 1),
        (["--out", os.fsdecode(b"r\xff")], "'r\\udcff' is not valid UTF-8", 2),
        (["--slot", f"b=file:{'a' * 5000}"], "A path of 5,000 characters is too long: aaa", 2),
        (["--resume", "a" * 5000], "A path of 5,000 characters is too long: aaa", 2),
        (["--isolate", "agent", "--memory-limit", str(2**62)], "memory_limit must be at most", 2),
        (["--isolate", "agent", "--cpu-limit", "1e300"], "cpu_limit must be at most", 2),
        (["--isolate", "agent", "--file-size-limit", str(2**62)], "file_size_limit must be at", 2),
    ],
)
def test_a_value_out_of_range_is_refused_in_a_sentence(capsys, words, sentence, code):
    with pytest.raises(SystemExit) as left:
        main([*EVALUATION, *words])
    said = capsys.readouterr().err
    assert "kinfolk itself failed" not in said
    assert sentence in said
    assert left.value.code == code
    assert not Path("runs").exists()


def test_a_lone_surrogate_in_a_file_of_settings_is_refused(tmp_path):
    settings = json.loads('{"slots": {"all": "kin://random?x=\\ud800"}}')
    with pytest.raises(SettingsError, match=r"Evaluate\.slots\.all is not valid Unicode"):
        validate_settings(Evaluate, {"world": "probe", **settings})


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64 + 1])
def test_seeds_do_not_wrap(seed):
    with pytest.raises(SettingsError, match="A seed is at least 0 and less than"):
        seed_key(seed)


def test_the_largest_values_that_are_allowed():
    assert validate_settings(Evaluate, {"seed": 2**63 - 1, "slots": {"all": "kin://noop"}})
    assert seed_key(2**63 - 1) != seed_key(0)
    assert parse_value("[1, 2]") == [1, 2]
    limits = validate_settings(IsolationSettings, {"memory_limit": 2**40, "step_timeout": 1e9})
    assert limits.memory_limit == 2**40
