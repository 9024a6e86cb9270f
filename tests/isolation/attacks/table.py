"""Prints the reports that `KINFOLK_ATTACK_TABLE` has collected as a table in Markdown."""

import json
import sys

_WIDTH = 100


def describe(report: dict) -> str:
    """Return in a few words what an attack came to."""
    if report["error"]:
        return f"no result: {report['error']}"
    effects = [*report["achieved"], *report["damage"], *(f"{s} leaked" for s in report["leaked"])]
    effects += [*(f"left {what.partition(' ')[0]}" for what in report["left"]), *report["blamed"]]
    effects += [] if report["same"] else ["changed the rival's result"]
    if effects:
        return ", ".join(dict.fromkeys(effects))
    causes = [message.partition(": ")[2] for message in report["failures"]]
    return causes[0].replace("act_async raised AttackReport: ", "") if causes else "no effect"


def cell(text: str) -> str:
    """Return a text that fits into a cell of a table."""
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def main() -> None:
    """Print a row for each attack and user, with both outcomes."""
    outcomes: dict[tuple[str, str], dict[bool, str]] = {}
    tries = {}
    with open(sys.argv[1]) as file:
        for line in file:
            report = json.loads(line)
            key = (report["name"], report["user"])
            outcomes.setdefault(key, {})[report["sandbox"]] = describe(report)
            tries[key] = report["tries"].splitlines()[0]
    write = sys.stdout.write
    write("| attack | tries | user | sandbox off | sandbox on |\n|---|---|---|---|---|\n")
    for (name, user), found in sorted(outcomes.items()):
        columns = [name, tries[name, user], user, found.get(False, ""), found.get(True, "")]
        write(f"| {' | '.join(map(cell, columns))} |\n")


if __name__ == "__main__":
    main()
