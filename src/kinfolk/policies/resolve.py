"""Resolve policy URIs into plain values, and build policies from them in any process.

Workers, cluster nodes and sandboxes get a `ResolvedPolicy` and nothing else: no path, no code and no
pickle, only the name of a class, its settings and its weights.
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
_NEURAL = "kinfolk.policies.neural.architectures"
_TEAMS = "kinfolk.policies.scripted.cogsguard.teams"

POLICIES = Registry(
    "policy",
    "policies",
    {
        "random": RegistryEntry(
            "kinfolk.policies.stateless:RandomPolicy", "draws every action uniformly"
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
            f"{_TEAMS}:SmartPolicy", "switches among the seeded roles of CogsGuard"
        ),
        "role/NAME": RegistryEntry(
            f"{_TEAMS}:SingleRolePolicy", "one role for all, such as role/BaseMiner"
        ),
        "behavior/NAME": RegistryEntry(
            f"{_TEAMS}:SingleBehaviorPolicy", "one behavior for all, such as behavior/explore"
        ),
        "cartpole": RegistryEntry(
            "kinfolk.policies.scripted.cartpole:CartPoleHeuristic", "keeps CartPole's pole up"
        ),
        "mlp": RegistryEntry(f"{_NEURAL}:MlpPolicy", "a multilayer perceptron, to be trained"),
        "conv": RegistryEntry(
            f"{_NEURAL}:CnnPolicy", "a convolutional net over the window, to be trained"
        ),
        "gru": RegistryEntry(f"{_NEURAL}:GruPolicy", "a recurrent net (GRU), to be trained"),
        "net": RegistryEntry(
            f"{_NEURAL}:CustomNetPolicy", "a torch module of your own: ?module=package.Net"
        ),
        "probe-python": RegistryEntry(
            f"{_PROBE}.python:PythonForager", "a forager in plain Python, for the probe"
        ),
        "probe-explaining": RegistryEntry(
            f"{_PROBE}.explaining:ExplainingForager", "the forager, explaining its actions"
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
    """All that is needed to build a policy; equal by content.

    Attributes:
        class_path: Import path of the policy's class.
        settings: Keyword arguments of its constructor, plain JSON values.
        arrays: Weights for its `load`; empty if it has none.
        sha256: Digest of the above, computed if empty.
    """

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
    """Resolve a policy URI, reading the files that it names.

    Args:
        uri: The URI. `weights=FILE` and `history=FILE` in its query are read here.
        settings: Further settings, which override those of the query.
        trusted: Whether a `class:` URI may be imported now, which runs its code; otherwise only its
            package is looked up.

    Returns:
        The class path, settings and weights of the policy.

    Raises:
        UsageError: The URI has no known form, names no known policy, or cannot be imported.
    """
    body, _, query = uri.partition("?")
    kwargs = {key: parse_value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    kwargs |= settings or {}
    body = _ALIASES.get(body, body)
    scheme, _, name = body.partition(":")
    if body.startswith("kin://"):
        family, slash, member = unquote(body[len("kin://") :]).partition("/")
        if slash and _FAMILY.format(family) in POLICIES:
            family, kwargs = _FAMILY.format(family), {"name": member, **kwargs}
        elif slash:
            family = f"{family}/{member}"
        return _read_files(POLICIES.get_entry(family).import_path, kwargs)
    if scheme == "class":
        return resolve_class(name, kwargs, trusted)
    if scheme in ("file", "run"):
        name = unquote(name)
        saved = read_policy(Path(name) if scheme == "file" else find_policy(name))
        return ResolvedPolicy(saved.class_path, {**saved.settings, **kwargs}, saved.arrays)
    raise UsageError(
        f"'{uri}' is not a policy.{suggest_policy_uri(uri, POLICIES) or f' Write {_URI_FORMS}.'}"
    )


def resolve_class(path: str, settings: Mapping[str, Any], trusted: bool = True) -> ResolvedPolicy:
    """Resolve a policy class of the user's own by its import path.

    Args:
        path: `package.module.Class` or `package.module:Class`.
        settings: Keyword arguments of the class; `weights` and `history` name files to read.
        trusted: Whether to import the class now, which runs its code.

    Raises:
        UsageError: The path has another form, or cannot be imported.
    """
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
    """Replace the file names in `settings` by what the files hold."""
    weights = settings.get("weights")
    others = {key: value for key, value in settings.items() if key != "weights"}
    if "history" in others:  # the text is passed on, not the path: workers may not see the file
        others["history"] = read_text(Path(str(others["history"])))
    return ResolvedPolicy(path, others, {} if weights is None else read_arrays(Path(str(weights))))


def load_policy_class(resolved: ResolvedPolicy) -> Callable[..., Policy]:
    """Import the class of a policy and check that it accepts the settings.

    Raises:
        SettingsError: A setting is unknown, or a required one is missing.
    """
    policy_class: Callable[..., Policy] = import_object(resolved.class_path)
    signature = inspect.signature(policy_class)
    known = list(signature.parameters)[1:]  # the first is the world's spec
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for name in resolved.settings:
        if name not in known and not takes_any:
            owner = resolved.class_path.replace(":", ".").rpartition(".")[2]
            raise SettingsError(f"{owner} has no setting '{name}'.{format_suggestion(name, known)}")
    try:
        signature.bind(None, **resolved.settings)
    except TypeError as error:
        raise SettingsError(
            f"{resolved.class_path} cannot be built with these settings: {error}."
        ) from None
    return policy_class


def build_policy(resolved: ResolvedPolicy, spec: WorldSpec, batch_invariant: bool = True) -> Policy:
    """Build a policy: `Class(spec, **settings)`, then `load(arrays)` if there are weights.

    A policy with a method `initialize_to_environment` gets the spec there too, once, at the end.

    Args:
        resolved: The policy's class, settings and weights.
        spec: Spec of the world to play.
        batch_invariant: Refuse a net whose outputs for an agent depend on the other agents of its
            batch. Everything but training needs that.

    Raises:
        SettingsError: The class does not accept these settings, or no weights.
        ContractError: The net is not batch invariant, and has to be.
        PolicyFailedError: The class raised an exception of its own.
    """
    policy_class = load_policy_class(resolved)
    try:
        policy = _instantiate(policy_class, resolved, spec, batch_invariant)
    except KinfolkError:
        raise
    except Exception as error:
        message, source, _ = summarize_error(error)
        raise PolicyFailedError(
            f"{resolved.class_path} could not be made: {message} ({source})."
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
    """Call the class and the optional hooks of a new policy.

    Args:
        policy_class: The imported class.
        resolved: Its settings and weights.
        spec: Spec of the world to play.
        batch_invariant: Whether to call `require_batch_invariant`, if the policy has it.
    """
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


_built: dict[int, ResolvedPolicy] = {}  # by the policy's id, as long as it is alive


def find_resolved(policy: Policy) -> ResolvedPolicy | None:
    """Return what `build_policy` built a policy from; None if it was built otherwise."""
    return _built.get(id(policy))


def check_weights(
    policy_name: str, spec: WorldSpec, arrays: Arrays, shapes: Mapping[str, Any]
) -> Arrays:
    """Check the names and shapes of weights, for the `load` of a policy.

    Args:
        policy_name: Name of the policy for error messages.
        spec: Spec of the world that the policy plays.
        arrays: The weights that were given.
        shapes: Shape that the policy needs, by weight name.

    Returns:
        `arrays` itself.

    Raises:
        SettingsError: A weight is missing, unknown or of another shape than this world needs.
    """
    for name, shape in shapes.items():
        if name not in arrays:
            raise SettingsError(f"The weights have no '{name}', which {policy_name} needs.")
        actual, needed = tuple(arrays[name].shape), tuple(shape)
        if actual != needed and not (actual == (1,) and needed == ()):  # files have no scalars
            raise SettingsError(
                f"The weights '{name}' have shape {actual}; {policy_name} in world {spec.world} "
                f"needs {needed}."
            )
    for name in arrays:
        if name not in shapes:
            raise SettingsError(
                f"{policy_name} has no weight '{name}'.{format_suggestion(name, shapes)}"
            )
    return arrays


def _digest(resolved: ResolvedPolicy) -> str:
    """Return the SHA-256 of class path, settings and weights."""
    digest = hashlib.sha256(
        json.dumps([resolved.class_path, dict(resolved.settings)], sort_keys=True).encode()
    )
    for name in sorted(resolved.arrays):
        array = resolved.arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
