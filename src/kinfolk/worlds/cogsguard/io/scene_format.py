"""The format of a recorded scene of the original CogsGuard, and its rules as settings.

A scene is gzipped JSON: a map, what everybody holds at the start, and the actions and the state of
every tick. `replay_scene` plays it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinfolk.core.errors import KinfolkError
from kinfolk.core.settings import validate_settings
from kinfolk.worlds.cogsguard import codes
from kinfolk.worlds.cogsguard.presets import AS_RELEASED
from kinfolk.worlds.cogsguard.settings import Cogsguard

FORMAT = 1
NEVER = 1_000_000  # tick of an event that does not happen
_KEYS = ("edition", "name", "settings", "map", "teams", "junctions", "extractors", "start", "ticks")
_OTHER_TEAM = str.maketrans("Hh@%01", "hH%@10")
_STATE_KEYS = ("agents", "owners", "stock", "stores")
# Events of the clips -> the settings of their timers, in the order of `CogsguardRules.timers`.
EVENT_SETTINGS: Mapping[str, tuple[str, str | None]] = {
    "initial_clips": ("clips_seed_at", None),
    "presence_check": ("clips_reseed_from", "clips_reseed_every"),
    "neutral_to_clips": ("clips_align_from", "clips_align_every"),
    "cogs_to_neutral": ("clips_scramble_from", "clips_scramble_every"),
}


class SceneError(KinfolkError):
    """A file is not a scene that can be replayed."""


def is_scene(data: Mapping[str, Any]) -> bool:
    """Return whether parsed JSON is a recorded scene, or meant to be one."""
    return "edition" in data and "map" in data


def check_scene(scene: Mapping[str, Any]) -> None:
    """Check that a scene has all keys, with states of the right shape.

    Raises:
        SceneError: Something is missing or of a wrong type.
    """
    for key in _KEYS:
        if key not in scene:
            raise SceneError(f"The scene has no '{key}': it is incomplete.")
    if scene.get("format") != FORMAT:
        raise SceneError(f"The scene has format {scene.get('format')!r}; {FORMAT} can be replayed.")
    if scene["edition"] not in ("F", "A"):
        raise SceneError(f"The scene's edition must be 'F' or 'A', not {scene['edition']!r}.")
    counts = [list(scene["teams"]).count(team) for team in range(max(scene["teams"]) + 1)]
    if len(set(counts)) != 1:
        raise SceneError(f"Teams of equal size can be replayed, not of {counts} agents.")
    outcomes = [scene["ticks"], *scene.get("alternatives", [])]
    states = [("start", scene["start"])]
    states += [(f"tick {t}", tick) for ticks in outcomes for t, tick in enumerate(ticks, 1)]
    for name, state in states:
        for key in _STATE_KEYS:
            if not isinstance(state, Mapping) or key not in state:
                raise SceneError(f"The scene's {name} has no '{key}'.")
        if len(state["agents"]) != len(scene["teams"]):
            raise SceneError(
                f"The scene's {name} has {len(state['agents'])} agents instead of "
                f"{len(scene['teams'])}."
            )


def number_teams_as_maps_do(scene: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a scene of two teams with their numbers exchanged if the hub of team 1 comes first.

    In a map as text the first hub in reading order is that of team 0.

    Args:
        scene: A checked scene.
    """
    hubs = [symbol for line in scene["map"] for symbol in line if symbol in "Hh"]
    if hubs[:2] != ["h", "H"]:
        return scene

    def exchange(state: Mapping[str, Any]) -> dict[str, Any]:
        texts = {
            key: state[key].translate(_OTHER_TEAM) for key in ("owners", "net") if key in state
        }
        return {**state, **texts, "stores": state["stores"][::-1]}

    return {
        **scene,
        "map": [line.translate(_OTHER_TEAM) for line in scene["map"]],
        "teams": [1 - team for team in scene["teams"]],
        "start": exchange(scene["start"]),
        "ticks": [exchange(state) for state in scene["ticks"]],
        "alternatives": [[exchange(t) for t in ticks] for ticks in scene.get("alternatives", [])],
    }


def get_fields(scene: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of an agent's numbers in a scene.

    Raises:
        SceneError: A name is unknown.
    """
    known = {"y", "x", "solar", "ok", "reward", *codes.OBSERVED_COLUMNS}
    fields = list(scene["fields"])
    for field in fields:
        if field not in known:
            raise SceneError(f"The scene has an unknown field {field!r}.")
    return fields


def convert_settings(
    scene: Mapping[str, Any], quirks: Mapping[str, bool] | None = None
) -> Cogsguard:
    """Return the settings of kinfolk under which a scene was recorded.

    Args:
        scene: A scene.
        quirks: Quirks of the rules; by default all of them if the scene shows one, else none.

    Raises:
        SceneError: The scene has rules that kinfolk does not have.
        SettingsError: A value is out of range.
    """
    rules, edition = scene["settings"], scene["edition"]
    if quirks is None:
        quirks = AS_RELEASED["quirks"] if "quirk" in scene else {}
    text = "\n".join(scene["map"]).replace("h", "H")
    data: dict[str, Any] = {
        "edition": edition,
        "map_text": text,
        "teams": text.count("H"),
        "agents": list(scene["teams"]).count(0),
        "free_moves": edition == "A",  # the original configures a price and never charges it
        "quirks": dict(quirks),
        "max_steps": rules["max_steps"],
        "move_cost": rules["move_cost"],
        "hp_upkeep": -rules["per_tick"]["hp"],
        "influence_upkeep": -rules["per_tick"].get("influence", 0),
        "deposit_most": rules["deposit_most"],
        "align_hearts": rules["align"]["costs"]["heart"],
        "scramble_hearts": rules["scramble"]["costs"]["heart"],
        "align_influence": rules["align"]["needs"].get("influence", 0),
        "heart_price": rules["heart_price"]["carbon"],
        "gear_price_main": rules["gear_prices"]["aligner"]["carbon"],
        "gear_price_other": rules["gear_prices"]["aligner"]["oxygen"],
        "store_cap": rules["store"]["cap"],
        "extractor_stock": rules["extractor"]["carbon"]["stock"],
        **_convert_limits(rules["limits"]),
        **_convert_day(rules["day"]),
        **_convert_clips(rules["clips"], text.count("X"), len(scene["ticks"])),
    }
    if edition == "F":
        data |= _convert_areas(rules["areas"])
    else:
        near, hub = rules["align"]["reach_of_network_and_hub"]
        data |= {"align_reach": near, "align_hub_reach": hub}
        data |= {"network_reach": rules["network_reach"][0]}
    return validate_settings(Cogsguard, data)


def _convert_limits(limits: Mapping[str, Any]) -> dict[str, int]:
    """Return the settings of the limits of what agents carry."""
    modifiers = {
        "hp": ("scout", "scrambler"),
        "energy": ("scout",),
        "cargo": ("miner",),
        "influence": ("aligner",),
    }
    data: dict[str, int] = {}
    for name, gears in modifiers.items():
        if name in limits:
            data[f"{name}_limit"] = limits[name]["base"]
            data |= {f"{name}_{gear}": limits[name]["modifiers"][gear] for gear in gears}
    # In edition F the limit is 100 per hp, at most 10: it falls to 0 only with hp.
    data["hearts_limit"] = min(limits["heart"]["most"], max(limits["heart"]["base"], 10))
    return data


def _convert_day(day: Mapping[str, Any]) -> dict[str, int]:
    """Return the settings of day and night; a short episode has no night."""
    data = {"solar_night": 1, "solar_day": 1 + day["solar_change"]}
    if day["night_events"]:
        data |= {"day_length": day["night_events"]["first"]}
        data |= {"day_period": day["day_events"]["every"] or NEVER}
    return data


def _convert_areas(areas: Mapping[str, Any]) -> dict[str, int]:
    """Return the settings of the areas of edition F, which are those of hubs and junctions alike."""
    if areas["hub"] != areas["junction"]:
        raise SceneError("Areas of hubs and junctions must be alike to be replayed.")
    friendly, enemy = areas["hub"]["friendly"], areas["hub"]["enemy"]
    data = {"area_radius": friendly["radius"]}
    data |= {f"{name}_friendly_area": amount for name, amount in friendly["change"].items()}
    return data | {f"{name}_enemy_area": -amount for name, amount in enemy["change"].items()}


def _convert_clips(clips: Mapping[str, Any], n_ships: int, n_ticks: int) -> dict[str, Any]:
    """Return the settings of the clips.

    Args:
        clips: Events by name; those of further ships end in `_s1`, `_s2` and so on.
        n_ships: Ships on the map.
        n_ticks: Length of the scene.

    Raises:
        SceneError: Ships have different timetables.
    """
    data: dict[str, Any] = {}
    for name, (first, every) in EVENT_SETTINGS.items():
        data[first] = clips.get(name, {}).get("first", NEVER)
        if every is not None:
            data[every] = clips.get(name, {}).get("every") or NEVER
        for ship in range(1, n_ships):
            if clips and clips.get(f"{name}_s{ship}") != clips.get(name):
                raise SceneError("Ships of one timetable can be replayed, not of several.")
    if all(data[first] > n_ticks for first, _ in EVENT_SETTINGS.values()):
        data["clips"] = "off"
    if "radius" in clips.get("neutral_to_clips", {}):
        data["clips_reach"] = clips["neutral_to_clips"]["radius"]
    return data


def find_last_ticks(scene: Mapping[str, Any]) -> list[int]:
    """Return the last tick of each action of the clips, in the order of `CogsguardRules.timers`."""
    last = []
    for name in EVENT_SETTINGS:
        event = scene["settings"]["clips"].get(name, {})
        times = event.get("times") or 0
        last.append(event.get("first", NEVER) + (event.get("every") or 0) * max(times - 1, 0))
    return last
