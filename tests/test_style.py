"""The style of the sources: names that the field uses, docstrings, sizes."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "src" / "kinfolk"
FILES = sorted(SOURCES.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Words that name nothing: what a variable holds is a better name for it.
EMPTY_WORDS = {"found", "asked", "said", "told", "kept", "own", "at", "one"}
# Definitions of the first version that the field calls otherwise.
REPLACED = {
    "Apart", "Together", "Spoilt", "Clock", "Care", "Guest", "Trouble", "Household", "Unit", "Counts",
    "Nursery", "Circle", "Round", "Wire", "WireShape", "Watched", "Ledger", "Verdict", "Match",
    "Played", "Game", "Held", "InMemory", "Shelf", "InCluster", "Scratch", "Measured", "Artefact",
    "Sink", "Sinks", "Play", "Seats", "Lists", "Tally", "Lineup", "LineUp", "FixedLineUp", "Life",
    "LifeLog", "Lives", "Thin", "Numbers", "Columns", "Happening", "Scene", "Shown", "Trait",
    "Viewable", "Batch", "Teller", "PlainTeller", "SavannaTeller", "OneWorld", "FixedSlots",
    "ParallelWorld", "CentralWorld", "RLlibWorld", "Lanes", "PlainLanes", "ArrayLanes", "Ground",
    "Sight", "Pack", "Herds", "Ends", "Kin", "Written", "Windows", "Folk", "Land", "Sheet", "Plan",
    "Drawing", "Cell", "Rows", "Reactive", "LoneAgent", "Reasons", "Why", "Reasoning", "RoleKit",
    "Busy", "Balance", "Reading", "Reader", "Atlas", "Said", "Custom", "Desk", "Script", "Nerves",
    "Temper", "Tuning", "Mind", "Known", "TempleRoles", "EvolvingRoles", "LiveRoles", "Roles",
    "Dice", "Table", "Block", "Static", "Calibration", "Kept", "BehaviourMap", "Watch", "Arena",
    "Side", "Games", "Copying", "Verdicts", "Judged", "Recording", "Scores", "Recorder", "Labels",
    "Task", "Gathered", "Stage", "PoolState", "Pooled", "Stretches", "Width", "Buffer", "Weights",
    "Outputs", "Learning", "Teaching", "Cloning", "GameBatch", "GameResult", "Newborn", "Evolution",
    "Yesterday", "ChampionJudged", "Lab", "Search", "Genetic", "Strategic", "FromMap", "Judging",
    "Updated", "Trained", "Guard", "Library", "Picture", "Page", "Pool",
    "doze", "rouse", "nap", "hear", "hear_rings", "has_spoken", "expect", "forget_counts",
    "share_heirlooms", "take_heirlooms", "sit", "lay", "break_up", "dismiss_the_dead", "make_ready",
    "still", "sound", "shut_in", "tie_to_parent", "knock", "fold", "below", "keep", "saying",
    "inside", "as_steps", "as_changes", "seat_rows", "line_up", "seated", "watch", "happenings",
    "picture", "bury", "affect", "cradle", "bear", "place", "teller_of", "see", "look", "foresee",
    "must_watch", "anybody", "best_first", "found_pool", "one_child", "child_of", "moved", "settle",
    "tails", "standing", "gather", "seat_rivals", "log_chance", "smoothing", "discount", "dealt_out",
    "seat", "studio", "begin", "given", "going", "measures", "faces", "face", "judge", "judging",
    "lessons", "pupil", "craft", "lineup", "lineups", "heirlooms", "patience", "chance",
}  # fmt: skip
# Words of that list that another field or a game uses in its own sense, and where.
ALLOWED = {
    ("measures", "evolution"): "pyribs' word for the axes of a MAP-Elites archive",
    ("measures", "jobs/evolve_nets"): "pyribs' word",
    ("measures", "jobs/evolve_roles/archive"): "pyribs' word",
    ("measures", "fitness"): "pyribs' word",
    ("patience", "jobs/train"): "early stopping's word",
}

# Methods of contracts, documented in policies/base.py and jobs/evolve_nets/search.py.
CONTRACTS = {"reset_agents", "act_async", "advance"}


def definitions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names of classes, functions, parameters, and fields of classes, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    yield statement.target.id, statement.lineno
        elif isinstance(node, Function):
            yield node.name, node.lineno
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            yield from ((argument.arg, argument.lineno) for argument in every)


def local_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that are assigned to anywhere, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def is_allowed(name: str, path: Path) -> bool:
    """Whether that word is the right one in that folder."""
    relative = path.relative_to(SOURCES).as_posix()
    return any(name == word and relative.startswith(where) for word, where in ALLOWED)


def named(names: Iterator[tuple[str, int]], words: set[str], path: Path) -> list[str]:
    """Where a name is one of the words, as 'file:line name'."""
    where = path.relative_to(SOURCES).as_posix()
    return [
        f"{where}:{line} {name}"
        for name, line in names
        if name in words and not is_allowed(name, path)
    ]


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, bool]]:
    """Public functions and methods: qualified name, node, and whether a class is around it."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, node, False
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, Function) and not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method, True


def parameters(node: Function, is_method: bool) -> list[str]:
    """The parameters a caller gives."""
    arguments = node.args
    every = [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
    return every[1:] if is_method and not static else every


def is_override(node: Function) -> bool:
    """Whether the documentation is elsewhere: at a contract, or at an overloaded function."""
    overloaded = any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)
    return overloaded or node.name in CONTRACTS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCES).as_posix())
class TestFile:
    def test_definitions_bear_the_names_of_the_field(self, path):
        tree = ast.parse(path.read_text())
        assert named(definitions(tree), REPLACED | EMPTY_WORDS, path) == []

    def test_local_names_say_what_they_hold(self, path):
        assert named(local_names(ast.parse(path.read_text())), EMPTY_WORDS, path) == []

    def test_docstrings_say_more_than_four_words(self, path):
        thin = []
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.ClassDef, *Function.__args__, ast.Module)):
                text = ast.get_docstring(node)
                if text and len(text.split("\n\n")[0].split()) <= 4:
                    thin.append(f"{getattr(node, 'name', path.name)}: {text}")
        assert thin == []

    def test_files_and_functions_stay_short(self, path):
        text = path.read_text()
        assert len(text.splitlines()) <= 350
        long = [
            f"{node.name}: {node.end_lineno - node.lineno + 1}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, Function) and node.end_lineno - node.lineno + 1 > 90
        ]
        assert long == []


def test_functions_with_three_parameters_document_them():
    missing, many = [], 0
    for path in FILES:
        if path.parent.is_relative_to(SOURCES / "cli" / "commands"):
            continue  # the parameters of a command are options, which carry their help
        for name, node, is_method in public_functions(ast.parse(path.read_text())):
            if len(parameters(node, is_method)) < 3 or is_override(node):
                continue
            many += 1
            if "Args:" not in (ast.get_docstring(node) or ""):
                missing.append(f"{path.relative_to(SOURCES).as_posix()} {name}")
    share = 1 - len(missing) / many
    assert share >= 0.9, f"{share:.0%} of {many} have Args; missing: " + ", ".join(missing)


def test_no_public_class_name_is_used_twice():
    places = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(SOURCES).as_posix())
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_folders_hold_at_most_eighteen_files():
    sizes = defaultdict(int)
    for path in FILES:
        sizes[path.parent.relative_to(SOURCES).as_posix()] += 1
    assert {folder: size for folder, size in sizes.items() if size > 18} == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class Guest: ...", ["core/errors.py:1 Guest"]),
        ("def f(told): ...", ["core/errors.py:1 told"]),
        ("class A:\n    smoothing: float", ["core/errors.py:2 smoothing"]),
        ("def gather(): ...", ["core/errors.py:1 gather"]),
        ("class Worker: ...", []),
    ],
)
def test_the_check_of_names_finds_them(source, expected):
    tree = ast.parse(source)
    assert named(definitions(tree), REPLACED | EMPTY_WORDS, SOURCES / "core/errors.py") == expected
