"""Policies by URI: resolved once into a plain value, built from it wherever it is needed.

Workers, cluster nodes and sandboxes get a `ResolvedPolicy` and nothing else: no path, no code
and no pickle, only the name of a class, its settings and its weights.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import SettingsError, UsageError
from kinfolk.core.registry import Entry, Registry, load_path
from kinfolk.core.settings import plain_value
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy
from kinfolk.store.arrays import read_arrays
from kinfolk.store.documents import read_text

_PROBE = "kinfolk.testing.probe.policies"
_SAVANNA = "kinfolk.policies.savanna"
_LINEUPS = "kinfolk.policies.cogsguard.lineups"

POLICIES = Registry(
    "policy",
    "policies",
    {
        "random": Entry("kinfolk.policies.simple:Random", "every action with equal chance"),
        "noop": Entry("kinfolk.policies.simple:Noop", "does nothing"),
        "hunter": Entry(
            f"{_SAVANNA}.hunter:Hunter", "hunts prey, alone or in teams, in the savanna"
        ),
        "grazer": Entry(f"{_SAVANNA}.grazer:Grazer", "grazes and flees, in the savanna"),
        "roles": Entry(
            "kinfolk.policies.cogsguard.evolving:Roles",
            "roles by count, as ?miner=4&scrambler=2, in CogsGuard; evolution=1 draws the rest",
        ),
        "smart": Entry(f"{_LINEUPS}:Smart", "changes among the seeded roles of CogsGuard"),
        "role/NAME": Entry(f"{_LINEUPS}:OneRole", "one role for all, such as role/BaseMiner"),
        "behavior/NAME": Entry(
            f"{_LINEUPS}:OneBehavior", "one behaviour for all, such as behavior/explore"
        ),
        "probe-plain": Entry(f"{_PROBE}.plain:Plain", "a forager in plain Python, for the probe"),
        "probe-hoard": Entry(f"{_PROBE}.hoard:Hoard", "100 KB of memory per agent, for the probe"),
        "probe-gru": Entry(f"{_PROBE}.gru:Gru", "a small recurrent net, for the probe"),
        "probe-members": Entry(f"{_PROBE}.members:Members", "a population of nets, for the probe"),
    },
)
# Families of policies: `kin://role/BaseMiner` is the entry `role/NAME` with that name.
_FAMILY = "{}/NAME"
_ALIASES = {"metta://policy/role_py": "kin://roles"}  # how users of the earlier system write it
_FORMS = "kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE)"


@dataclass(frozen=True)
class ResolvedPolicy:
    """All that makes a policy: a class path, plain settings and arrays; equal by content."""

    class_path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict, compare=False)
    sha256: str = ""

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", _digest(self))


def resolve(uri: str) -> ResolvedPolicy:
    """Read a URI. `weights=FILE` and `history=FILE` among its settings are read here and now.

    Raises:
        UsageError: It has no known form, names no known policy, or cannot be imported.
    """
    body, _, query = uri.partition("?")
    body = _ALIASES.get(body, body)
    settings = {key: plain_value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    weights = settings.pop("weights", None)
    arrays = {} if weights is None else read_arrays(Path(str(weights)))
    if "history" in settings:  # the text goes on, not the path: workers may not see the file
        settings["history"] = read_text(Path(str(settings["history"])))
    if body.startswith("kin://"):
        family, slash, name = unquote(body[len("kin://") :]).partition("/")
        if slash and _FAMILY.format(family) in POLICIES:
            family, settings = _FAMILY.format(family), {"name": name, **settings}
        elif slash:
            family = f"{family}/{name}"
        return ResolvedPolicy(POLICIES.entry(family).path, settings, arrays)
    if body.startswith("class:"):
        path = body[len("class:") :]
        load_path(path)
        return ResolvedPolicy(path, settings, arrays)
    raise UsageError(f"'{uri}' is not a policy. Write {_FORMS}.")


def class_of(resolved: ResolvedPolicy) -> Callable[..., Policy]:
    """The class of a policy, which is known to take the settings given.

    Raises:
        SettingsError: It does not take them.
    """
    kind: Callable[..., Policy] = load_path(resolved.class_path)
    try:
        inspect.signature(kind).bind(None, **resolved.settings)
    except TypeError as error:
        raise SettingsError(f"{resolved.class_path} cannot be made so: {error}.") from None
    return kind


def build(resolved: ResolvedPolicy, spec: WorldSpec) -> Policy:
    """Make the policy: `Class(spec, **settings)`, then `load(arrays)` if it has weights.

    Raises:
        SettingsError: The class does not take these settings, or no weights.
    """
    policy: Policy = class_of(resolved)(spec, **resolved.settings)
    if resolved.arrays:
        load = getattr(policy, "load", None)
        if load is None:
            raise SettingsError(f"{resolved.class_path} takes no weights: it has no method load.")
        load(resolved.arrays)
    return policy


def _digest(resolved: ResolvedPolicy) -> str:
    digest = hashlib.sha256(
        json.dumps([resolved.class_path, dict(resolved.settings)], sort_keys=True).encode()
    )
    for name in sorted(resolved.arrays):
        array = resolved.arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
