"""Count lines and habits of the Python sources: `python tools/count.py src [--json]`.

Every line is counted once: a line of a docstring, of an import, a comment, a blank line, or code. Beside
the lines, the habits that ARCHITECTURE.md asks to keep low are counted, each in one number.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

COLUMNS = ("files", "lines", "code", "import", "docstring", "comment", "blank", "statements")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
RESULT_PACKAGES = ("results", "store")  # read JSON by key: they are the border
PRESENTATION = ("cli", "api", "viewer")
JOBS = ("evaluate", "compare", "tournament", "crossplay", "scenarios", "exploit", "train",
        "evolve_roles", "evolve_nets", "sweep", "study")  # fmt: skip


def count_lines(source: str, tree: ast.Module) -> Counter[str]:
    """Return how many lines of a file are of each kind, and how many statements it has."""
    kinds: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type in (tokenize.ENDMARKER, tokenize.ENCODING):
            continue
        kind = "comment" if token.type == tokenize.COMMENT else "code"
        for line in range(token.start[0], token.end[0] + 1):
            if kinds.get(line) != "code":
                kinds[line] = kind
    statements = 0
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            mark_lines(kinds, node, "import")
        if isinstance(node, ast.stmt):
            statements += 1
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            mark_lines(kinds, node.body[0], "docstring")
            statements -= 1
    n_lines = len(source.splitlines())
    counts = Counter(kinds.get(line, "blank") for line in range(1, n_lines + 1))
    counts["lines"] = n_lines
    counts["files"] = 1
    counts["statements"] = statements
    return counts


def mark_lines(kinds: dict[int, str], node: ast.stmt, kind: str) -> None:
    """Set the kind of all lines of a statement."""
    for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        kinds[line] = kind


def count_habits(tree: ast.Module, package: str) -> Counter[str]:
    """Return how often a file does what the redesign wants to see less often."""
    counts: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            counts["ternaries"] += 1
        elif isinstance(node, COMPREHENSIONS):
            counts["comprehensions"] += 1
        elif isinstance(node, ast.Assign) and is_packed(node):
            counts["packed assignments"] += 1
        elif isinstance(node, ast.Compare) and compares_job(node):
            counts["if job == outside jobs"] += package != "jobs"
        if package not in RESULT_PACKAGES and reads_by_key(node):
            counts["string-key reads outside results and store"] += 1
        if package in PRESENTATION and is_untyped_dict(node):
            counts["dict[str, Any] in cli, api and viewer"] += 1
    return counts


def is_packed(node: ast.Assign) -> bool:
    """Return whether several values are assigned to several names in one line."""
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def compares_job(node: ast.Compare) -> bool:
    """Return whether the name of a job is compared with a text."""
    left = ast.unparse(node.left)
    texts = [
        c for c in node.comparators if isinstance(c, ast.Constant) and isinstance(c.value, str)
    ]
    return bool(texts) and re.fullmatch(r"(.*\.)?job(_name)?|.*\[.job.\]", left) is not None


def reads_by_key(node: ast.AST) -> bool:
    """Return whether a value is read by a text: `x["name"]`, `x.get("name")`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = node.args[0] if node.args else None
        is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
        return node.func.attr == "get" and is_text
    return False


def is_untyped_dict(node: ast.AST) -> bool:
    """Return whether a node is the type `dict[str, Any]` or `Mapping[str, Any]`."""
    return isinstance(node, ast.Subscript) and ast.unparse(node) in (
        "dict[str, Any]",
        "Mapping[str, Any]",
    )


def count_job_names(root: Path) -> dict[str, int]:
    """Return in how many files outside its own package each job is named, as a whole word."""
    files: defaultdict[str, int] = defaultdict(int)
    for path in sorted(root.rglob("*.py")):
        inner = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for job in JOBS:
            if f"jobs/{job}" not in inner and re.search(rf"\b{job}\b", text):
                files[job] += 1
    return dict(files)


def print_table(
    packages: dict[str, Counter[str]], habits: Counter[str], jobs: dict[str, int]
) -> None:
    """Print the counts of lines by package, then the habits."""
    total: Counter[str] = Counter()
    write = sys.stdout.write
    write("".join(f"{name:>12}" for name in ("package", *COLUMNS)) + "\n")
    for package in sorted(packages):
        total.update(packages[package])
        write(f"{package:>12}" + "".join(f"{packages[package][c]:>12,}" for c in COLUMNS) + "\n")
    write(f"{'all':>12}" + "".join(f"{total[c]:>12,}" for c in COLUMNS) + "\n\n")
    for name in ("ternaries", "comprehensions", "packed assignments"):
        rate = 1000 * habits[name] / total["code"]
        write(f"{name}: {habits[name]:,}, {rate:.1f} per 1,000 lines of code\n")
    for name in sorted(habits):
        if name not in ("ternaries", "comprehensions", "packed assignments"):
            write(f"{name}: {habits[name]:,}\n")
    write("files that name a job, outside its package: ")
    write(", ".join(f"{job} {jobs.get(job, 0)}" for job in JOBS) + "\n")


def main() -> None:
    """Count the sources below a folder and print the result."""
    parser = argparse.ArgumentParser(description="Count lines and habits of the Python sources.")
    parser.add_argument("folder", type=Path, help="folder with packages, such as src")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    root = arguments.folder
    if (root / "kinfolk").is_dir():
        root = root / "kinfolk"
    packages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    habits: Counter[str] = Counter()
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        package = parts[0] if len(parts) > 1 else "(top)"
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        packages[package].update(count_lines(source, tree))
        habits.update(count_habits(tree, package))
    jobs = count_job_names(root)
    if arguments.json:
        json.dump({"packages": packages, "habits": habits, "job_names": jobs}, sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print_table(packages, habits, jobs)


if __name__ == "__main__":
    main()
