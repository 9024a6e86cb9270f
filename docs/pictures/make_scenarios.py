"""Measure the floors and ceilings of all scenarios, the table of baselines and their picture.

    python docs/pictures/make_scenarios.py play RUNS WORLD  # plays what is not in RUNS yet
    python docs/pictures/make_scenarios.py write RUNS

`write` writes src/kinfolk/scenario_table/bounds.json, docs/pictures/scenarios.csv and scenarios.svg. Bounds are
measured on other seeds than those that `kinfolk eval --scenario` plays: the floor is the mean of random
agents, or of the worst baseline where random agents come close to the best one, the ceiling that of the best baseline.
"""

import json
import sys
from pathlib import Path
from statistics import fmean

import kinfolk as kf
from kinfolk.api.frames import save_table
from kinfolk.evaluation.figures.estimates import draw_named_estimates
from kinfolk.evaluation.figures.style import save_figure
from kinfolk.jobs.scenarios.job import summarize_scenarios, tabulate_scores
from kinfolk.jobs.scenarios.plan import plan_scenarios
from kinfolk.jobs.scenarios.settings import EvaluateScenarios
from kinfolk.scenario_table.read import BOUNDS_FILE
from kinfolk.store.run import open_run

FOLDER = Path(__file__).parent
POLICIES = BOUNDS_FILE.parent / "policies"
EPISODES = 6
CLOSE = 0.15  # share of the ceiling from which random agents are no floor
BOUNDS_OFFSET = 500_000  # added to the seeds of scenarios


def _file(name: str) -> str:
    return f"file:{POLICIES / name}.safetensors"


BASELINES = {
    "random": {"all": "kin://random"},
    "scripts": {
        "predator": "kin://hunter",
        "prey": "kin://grazer",
        "cogs": "kin://smart",
    },
    "roles": {"cogs": _file("evolved_cogs")},
    "trained": {
        "predator": _file("trained_predator"),
        "prey": _file("trained_prey"),
        "cogs": _file("trained_miner"),
    },
    "co-evolved": {"predator": _file("evolved_predator"), "prey": _file("evolved_prey")},
}


def play(runs: Path, world: str) -> None:
    """Play the scenarios of a world with every baseline, on the seeds of bounds and of scores."""
    groups = {
        group for s in kf.scenarios().values() if s.world == world for group in s.focal_groups
    }
    for offset in (BOUNDS_OFFSET, 0):
        for name, table in BASELINES.items():
            folder = runs / f"{name}-{offset}-{world}"
            policies = {
                key: uri
                for key, uri in table.items()
                if key == "all" or any(key in group for group in groups)
            }
            if policies and not folder.exists():
                chosen = {world if key == "all" else key: uri for key, uri in policies.items()}
                kf.evaluate_scenarios(chosen, episodes=EPISODES, seed_offset=offset, out=folder)


def _read_returns(runs: Path, baseline: str, offset: int) -> dict[str, list[float]]:
    returns: dict[str, list[float]] = {}
    for folder in sorted(runs.glob(f"{baseline}-{offset}-*")):
        for event in open_run(folder).events():
            if event["kind"] == "scenario_episode_played":
                returns.setdefault(event["scenario"], []).append(event["focal_return"])
    return returns


def write_bounds(runs: Path) -> None:
    """Write the floor and the ceiling of every scenario."""
    means: dict[str, dict[str, float]] = {}
    for baseline in BASELINES:
        for name, values in _read_returns(runs, baseline, BOUNDS_OFFSET).items():
            means.setdefault(name, {})[baseline] = fmean(values)
    bounds = {}
    for name, by_baseline in means.items():
        best = max(by_baseline, key=lambda baseline: by_baseline[baseline])
        worst = min(by_baseline, key=lambda baseline: by_baseline[baseline])
        is_close = by_baseline["random"] > (1 - CLOSE) * by_baseline[best]
        floor_of = worst if is_close else "random"
        floor, ceiling = round(by_baseline[floor_of], 6), round(by_baseline[best], 6)
        bounds[name] = {
            "floor": floor,
            "floor_of": floor_of,
            "ceiling": ceiling,
            "ceiling_of": best,
        }
    BOUNDS_FILE.write_text(json.dumps(bounds, indent=1) + "\n")


def write_baselines(runs: Path) -> None:
    """Write the scores of all baselines as a table and as a picture."""
    table: dict[str, list] = {}
    groups: dict[str, dict] = {}
    for baseline, policies in BASELINES.items():
        returns = _read_returns(runs, baseline, 0)
        settings = EvaluateScenarios(policies=policies, scenarios=tuple(returns), episodes=EPISODES)
        done = summarize_scenarios(plan_scenarios(settings), returns, [])
        table.setdefault("baseline", []).extend([baseline] * len(done.scenarios))
        for column, values in tabulate_scores(done.scenarios).items():
            table.setdefault(column, []).extend(values)
        groups[baseline] = done.means
    save_table(table, FOLDER / "scenarios.csv")
    shown = {
        name: {key: means.get(key) for key in ("development", "held-out", "savanna", "cogsguard")}
        for name, means in groups.items()
    }
    figure = draw_named_estimates(shown, "mean score over scenarios", f"{EPISODES} episodes each")
    save_figure(figure, FOLDER / "scenarios.svg")


if __name__ == "__main__":
    command, folder, *worlds = sys.argv[1:]
    if command == "play":
        play(Path(folder), *worlds)
    else:
        write_bounds(Path(folder))
        write_baselines(Path(folder))
