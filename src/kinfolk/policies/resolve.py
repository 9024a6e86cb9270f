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
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote
from weakref import finalize

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import (
    KinfolkError,
    PolicyFailedError,
    SettingsError,
    UsageError,
    format_suggestion,
)
from kinfolk.core.registry import Registry, RegistryEntry, import_object
from kinfolk.core.settings import parse_value
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.tracebacks import summarize_error
from kinfolk.policies.base import Policy
from kinfolk.policies.uri_hints import suggest_policy_uri
from kinfolk.store.arrays import read_arrays
from kinfolk.store.json_files import read_text
from kinfolk.store.policy_file import find_policy, read_policy

_PROBE = "kinfolk.testing.probe.policies"
_SAVANNA = "kinfolk.policies.scripted.savanna"
_NEURAL = "kinfolk.policies.neural.policy"
_LINEUPS = "kinfolk.policies.scripted.cogsguard.teams"

POLICIES = Registry(
    "policy",
    "policies",
    {
        "random": RegistryEntry(
            "kinfolk.policies.stateless:RandomPolicy", "every action with equal chance"
        ),
        "noop": RegistryEntry("kinfolk.policies.stateless:NoopPolicy", "does nothing"),
        "hunter": RegistryEntry(
            f"{_SAVANNA}.hunter:Hunter", "hunts prey, alone or in teams, in the savanna"
        ),
        "grazer": RegistryEntry(f"{_SAVANNA}.grazer:Grazer", "grazes and flees, in the savanna"),
        "roles": RegistryEntry(
            "kinfolk.policies.scripted.cogsguard.evolved_roles:RolePolicyFactory",
            "roles of CogsGuard by count: ?miner=4&scrambler=2; &evolution=1",
        ),
        "smart": RegistryEntry(
            f"{_LINEUPS}:SmartPolicy", "changes among the seeded roles of CogsGuard"
        ),
        "role/NAME": RegistryEntry(
            f"{_LINEUPS}:SingleRolePolicy", "one role for all, such as role/BaseMiner"
        ),
        "behavior/NAME": RegistryEntry(
            f"{_LINEUPS}:SingleBehaviorPolicy", "one behaviour for all, such as behavior/explore"
        ),
        "cartpole": RegistryEntry(
            "kinfolk.policies.scripted.cartpole:CartPoleHeuristic", "keeps CartPole's pole up"
        ),
        "mlp": RegistryEntry(f"{_NEURAL}:MlpPolicy", "a net of dense layers, to be trained"),
        "conv": RegistryEntry(
            f"{_NEURAL}:CnnPolicy", "a net of small filters over the window, to be trained"
        ),
        "gru": RegistryEntry(f"{_NEURAL}:GruPolicy", "a net that remembers, to be trained"),
        "net": RegistryEntry(
            f"{_NEURAL}:CustomNetPolicy", "a torch module of your own: ?module=package.Net"
        ),
        "probe-python": RegistryEntry(
            f"{_PROBE}.python:PythonForager", "a forager in plain Python, for the probe"
        ),
        "probe-explaining": RegistryEntry(
            f"{_PROBE}.explaining:ExplainingForager", "the forager, telling its reasons"
        ),
        "probe-large-memory": RegistryEntry(
            f"{_PROBE}.large_memory:LargeMemoryPolicy", "100 KB of memory per agent, for the probe"
        ),
        "probe-gru": RegistryEntry(
            f"{_PROBE}.gru:ProbeGruPolicy", "a small recurrent net, for the probe"
        ),
        "probe-population": RegistryEntry(
            f"{_PROBE}.population:PopulationPolicy", "a population of nets, for the probe"
        ),
    },
)
# Families of policies: `kin://role/BaseMiner` is the entry `role/NAME` with that name.
_FAMILY = "{}/NAME"
_ALIASES = {"metta://policy/role_py": "kin://roles"}  # how users of the earlier system write it
_URI_FORMS = (
    "kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE), "
    "file:POLICY.safetensors or run:RUN[/SLOT][@best|@latest|@STEP]"
)


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


def resolve(
    uri: str, settings: Mapping[str, Any] | None = None, trusted: bool = True
) -> ResolvedPolicy:
    """Read a URI; `settings` are added to its own.

    `weights=FILE` among them names arrays, which are read here and now; so is the text of
    `history=FILE`. A class that is not `trusted` is not imported here, only looked for: importing
    it runs its code.

    Raises:
        UsageError: It has no known form, names no known policy, or cannot be imported.
    """
    body, _, query = uri.partition("?")
    asked = {key: parse_value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    asked |= settings or {}
    body = _ALIASES.get(body, body)
    scheme, _, name = body.partition(":")
    if body.startswith("kin://"):
        family, slash, member = unquote(body[len("kin://") :]).partition("/")
        if slash and _FAMILY.format(family) in POLICIES:
            family, asked = _FAMILY.format(family), {"name": member, **asked}
        elif slash:
            family = f"{family}/{member}"
        return _read_files(POLICIES.get_entry(family).import_path, asked)
    if scheme == "class":
        return resolve_class(name, asked, trusted)
    if scheme in ("file", "run"):
        where = unquote(name)
        kept = read_policy(Path(where) if scheme == "file" else find_policy(where))
        return ResolvedPolicy(kept.class_path, {**kept.settings, **asked}, kept.arrays)
    raise UsageError(
        f"'{uri}' is not a policy.{suggest_policy_uri(uri, POLICIES) or f' Write {_URI_FORMS}.'}"
    )


def resolve_class(path: str, settings: Mapping[str, Any], trusted: bool = True) -> ResolvedPolicy:
    """A class of anybody's, by its import path."""
    module, _, name = path.partition(":") if ":" in path else path.rpartition(".")
    if not module or not name or module.endswith(".py") or name == "py":
        file = path if ".py" in path else f"{path}.py"
        known = ".py" in path or Path(file).exists()
        hint = suggest_policy_uri(file, ()) if known else " Write class:package.module.Class."
        raise UsageError(f"'class:{path}' is not an import path.{hint}")
    if trusted:
        import_object(path)
    else:
        package = path.partition(":")[0].partition(".")[0]
        if find_spec(package) is None:
            raise UsageError(f"'{path}' cannot be imported: there is no module {package}.")
    return _read_files(path, settings)


def _read_files(path: str, settings: Mapping[str, Any]) -> ResolvedPolicy:
    weights = settings.get("weights")
    others = {key: value for key, value in settings.items() if key != "weights"}
    if "history" in others:  # the text goes on, not the path: workers may not see the file
        others["history"] = read_text(Path(str(others["history"])))
    return ResolvedPolicy(path, others, {} if weights is None else read_arrays(Path(str(weights))))


def load_policy_class(resolved: ResolvedPolicy) -> Callable[..., Policy]:
    """The class of a policy, which is known to take the settings given.

    Raises:
        SettingsError: It does not take them.
    """
    kind: Callable[..., Policy] = import_object(resolved.class_path)
    taken = inspect.signature(kind)
    known = list(taken.parameters)[1:]  # the first is the world's spec
    takes_any = any(p.kind is p.VAR_KEYWORD for p in taken.parameters.values())
    for name in resolved.settings:
        if name not in known and not takes_any:
            owner = resolved.class_path.replace(":", ".").rpartition(".")[2]
            raise SettingsError(f"{owner} has no setting '{name}'.{format_suggestion(name, known)}")
    try:
        taken.bind(None, **resolved.settings)
    except TypeError as error:
        raise SettingsError(f"{resolved.class_path} cannot be made so: {error}.") from None
    return kind


def build_policy(resolved: ResolvedPolicy, spec: WorldSpec, batch_invariant: bool = True) -> Policy:
    """Make the policy: `Class(spec, **settings)`, then `load(arrays)` if it has weights.

    A policy with a method `initialize_to_environment` gets the spec there too, once, at the end.

    Args:
        resolved: The policy's class, settings and weights.
        spec: Of the world it plays.
        batch_invariant: Refuse a net whose results for an agent depend on which other agents are
            asked in the same call. All but training needs that.

    Raises:
        SettingsError: The class does not take these settings, or no weights.
        ContractError: It is not batch invariant, and has to be.
        PolicyFailedError: The class raised something of its own.
    """
    kind = load_policy_class(resolved)
    try:
        policy = _instantiate(kind, resolved, spec, batch_invariant)
    except KinfolkError:
        raise
    except Exception as error:
        what, where, _ = summarize_error(error)
        raise PolicyFailedError(
            f"{resolved.class_path} could not be made: {what} ({where})."
        ) from error
    _built[id(policy)] = resolved
    finalize(policy, _built.pop, id(policy), None)
    return policy


def _instantiate(
    policy_class: Callable[..., Policy],
    resolved: ResolvedPolicy,
    spec: WorldSpec,
    batch_invariant: bool,
) -> Policy:
    policy = policy_class(spec, **resolved.settings)
    if resolved.arrays:
        load = getattr(policy, "load", None)
        if load is None:
            raise SettingsError(f"{resolved.class_path} takes no weights: it has no method load.")
        load(resolved.arrays)
    require_batch_invariant = getattr(policy, "require_batch_invariant", None)
    if batch_invariant and require_batch_invariant is not None:
        require_batch_invariant()
    initialize = getattr(policy, "initialize_to_environment", None)
    if initialize is not None:
        initialize(spec)
    return policy


_built: dict[int, ResolvedPolicy] = {}  # by identity, as long as the policy lives


def find_resolved(policy: Policy) -> ResolvedPolicy | None:
    """What `build` made a policy from; None for one that was made otherwise."""
    return _built.get(id(policy))


def check_weights(
    policy_name: str, spec: WorldSpec, arrays: Arrays, shapes: Mapping[str, Any]
) -> Arrays:
    """Weights that a policy can take, for its `load` to check with.

    Raises:
        SettingsError: A weight is missing, unknown or of another shape than this world needs.
    """
    for name, shape in shapes.items():
        if name not in arrays:
            raise SettingsError(f"The weights have no '{name}', which {policy_name} needs.")
        if tuple(arrays[name].shape) != tuple(shape):
            raise SettingsError(
                f"The weights do not fit world {spec.world}: '{name}' has shape "
                f"{tuple(arrays[name].shape)}, and {policy_name} needs {tuple(shape)} there."
            )
    for name in arrays:
        if name not in shapes:
            raise SettingsError(
                f"{policy_name} has no weight '{name}'.{format_suggestion(name, shapes)}"
            )
    return arrays


def _digest(resolved: ResolvedPolicy) -> str:
    digest = hashlib.sha256(
        json.dumps([resolved.class_path, dict(resolved.settings)], sort_keys=True).encode()
    )
    for name in sorted(resolved.arrays):
        array = resolved.arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
