import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinfolk.core import jit, kernel_cache
from kinfolk.core.kernel_cache import reached_code

SCRIPT = """
import numpy as np
from kinfolk.testing.probe.world import Probe, ProbeWorld
world = ProbeWorld(Probe())
world.reset(np.array([5]))
print(world._state.cell.tolist())
"""
HASHES = """
import importlib, json, pkgutil, kinfolk.worlds.savanna, kinfolk.worlds.cogsguard
from kinfolk.core.kernel_cache import KernelCache
hashes = {}
for package in (kinfolk.worlds.savanna, kinfolk.worlds.cogsguard):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        for value in vars(importlib.import_module(found.name)).values():
            cache = getattr(value, "_cache", None)
            if isinstance(cache, KernelCache):
                hashes[cache.name] = cache._code_hash
print(json.dumps(hashes))
"""
SCALE = 3


@jit.inline
def scaled(x):
    return SCALE * x


@jit.kernel
def sum_of_scaled(values):
    total = 0
    for i in range(values.shape[0]):
        total += scaled(values[i])
    return total


@jit.allocation_free_kernel
def add_to(row, amounts):
    for i in range(row.shape[0]):
        row[i] += amounts[i]


@jit.allocation_free_kernel
def add_to_rows(address, table, amounts):
    for i in range(table.shape[0]):
        jit.call_kernel(address, (table[i], amounts))


def run(package, cache, script=SCRIPT):
    env = {**os.environ, "PYTHONPATH": str(package), "KINFOLK_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path, root):
    shutil.copytree(root / "src" / "kinfolk", tmp_path / "src" / "kinfolk")
    return tmp_path / "src"


def replace(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.mark.more
def test_editing_a_callee_in_another_file_is_noticed_at_the_next_start(tmp_path, package):
    cache = tmp_path / "cache"
    first = run(package, cache)
    assert run(package, cache) == first
    # `reset` in rules.py calls `randint` in core/random.py; numba alone would not look there.
    callee = package / "kinfolk" / "core" / "random.py"
    old, new = "return (bits(key, index) * high) >> 32", "return bits(key, index + 1) % high"
    replace(callee, old, new)
    second = run(package, cache)
    assert second != first
    replace(callee, new, old)
    assert run(package, cache) == first


@pytest.mark.more
def test_a_second_checkout_with_the_same_code_compiles_nothing(tmp_path, package):
    cache = tmp_path / "cache"
    first = run(package, cache)
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*.kernel")}
    assert len(files) >= 1
    shutil.copytree(package, tmp_path / "second")
    assert run(tmp_path / "second", cache) == first
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.kernel")} == files


def test_an_edit_of_movement_recompiles_the_kernels_that_move_and_no_others(tmp_path, package):
    before = json.loads(run(package, tmp_path, HASHES))
    moves = package / "kinfolk" / "worlds" / "savanna" / "step" / "movement.py"
    old = "distance * move_cost * energy"
    replace(moves, old, f"2.0 * {old}")
    after = json.loads(run(package, tmp_path, HASHES))
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {
        "kinfolk.worlds.savanna.step.parts.moves.finish_moves",
        "kinfolk.worlds.savanna.step.parts.moves.move_band",
        "kinfolk.worlds.savanna.step.phases.step_with_solo_predation",
        "kinfolk.worlds.savanna.step.phases.step_with_team_capture",
    }
    savanna = [name for name in before if ".savanna." in name]
    assert len(changed) * 3 <= len(savanna)
    assert len(before) > len(savanna) >= 8


def test_comments_and_line_numbers_recompile_nothing(tmp_path, package):
    before = run(package, tmp_path, HASHES)
    moves = package / "kinfolk" / "worlds" / "savanna" / "step" / "movement.py"
    moves.write_text("# one line more\n" + moves.read_text())
    assert run(package, tmp_path, HASHES) == before


def test_a_kernel_depends_on_constants_of_what_it_calls(monkeypatch):
    function = getattr(sum_of_scaled, "py_func", sum_of_scaled)
    before = reached_code(function)
    assert reached_code(function) == before
    monkeypatch.setitem(globals(), "SCALE", 4)
    assert reached_code(function) != before


def test_a_kernel_that_refers_to_what_has_no_hash_is_refused(monkeypatch):
    function = getattr(sum_of_scaled, "py_func", sum_of_scaled)
    monkeypatch.setitem(globals(), "SCALE", {1: 2})
    with pytest.raises(TypeError) as failure:
        reached_code(function)
    assert str(failure.value) == (
        "A kernel refers to {1: 2}, a dict, of which the cache cannot tell whether it changed. "
        "Kernels may refer to numbers, text, arrays, tuples, functions and modules."
    )


def test_a_kernel_divides_by_zero_as_numpy_does():
    @jit.kernel
    def ratio(a, b):
        return a / b

    assert np.isnan(ratio(0.0, 0.0))


def test_a_kernel_calls_another_by_its_address():
    table, amounts = np.array([[1, 2], [3, 4]]), np.array([10, 20])
    address = jit.get_kernel_address(add_to, table[0], amounts)
    add_to_rows(address, table, amounts)
    assert table.tolist() == [[11, 22], [13, 24]]
    assert jit.get_kernel_address(add_to, table[0], amounts) == address


@pytest.mark.parametrize("has_temporary_folder", [True, False])
def test_a_read_only_cache_is_read_and_not_written(tmp_path, monkeypatch, has_temporary_folder):
    def find_temporary_folder():
        if not has_temporary_folder:  # as in the fork server of a sandbox
            raise FileNotFoundError
        return str(tmp_path / "temporary")

    (tmp_path / "temporary").mkdir()
    shared, own = tmp_path / "shared", tmp_path / f"temporary/kinfolk-kernels-{os.getuid()}"
    monkeypatch.setenv("KINFOLK_CACHE", str(shared))
    monkeypatch.setattr(kernel_cache.os, "access", lambda path, mode: Path(path) != shared)
    monkeypatch.setattr(kernel_cache.tempfile, "gettempdir", find_temporary_folder)
    for function in (kernel_cache.cache_root, kernel_cache._readable_roots):
        monkeypatch.setattr(kernel_cache, function.__name__, function.__wrapped__)
    roots = (shared, own) if has_temporary_folder else (shared,)
    assert kernel_cache._readable_roots() == roots
    assert kernel_cache.cache_root() == roots[-1]
    assert kernel_cache._may_write() == has_temporary_folder
