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
from typing import Any, cast
from urllib.parse import parse_qsl, unquote
from weakref import finalize

from kinfolk.core import errors
from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import (
    SettingsError,
    UsageError,
    format_suggestion,
    require,
    summarize_error,
)
from kinfolk.core.imports import Registry, RegistryEntry, import_object
from kinfolk.core.settings import parse_value
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.base import Policy
from kinfolk.policies.uri_hints import suggest_policy_uri
from kinfolk.roles.history_file import read_history_text
from kinfolk.store.arrays import find_policy, read_arrays, read_policy
from kinfolk.store.files import read_text

_SAVANNA = "kinfolk.policies.scripted.savanna"
_NEURAL = "kinfolk.policies.neural.architectures"
_TEAMS = "kinfolk.policies.scripted.cogsguard.teams"
_BUILT_IN = {  # import path and description
    "random": ("kinfolk.policies.base:RandomPolicy", "draws every action uniformly"),
    "noop": ("kinfolk.policies.base:NoopPolicy", "does nothing"),
    "hunter": (f"{_SAVANNA}.hunter:Hunter", "hunts prey, alone or in teams, in the savanna"),
    "grazer": (f"{_SAVANNA}.grazer:Grazer", "grazes and flees, in the savanna"),
    "roles": (
        "kinfolk.policies.scripted.cogsguard.evolved_roles:RolePolicyFactory",
        "roles of CogsGuard by count: ?miner=4&scrambler=2; &evolution=1",
    ),
    "smart": (f"{_TEAMS}:SmartPolicy", "switches among the seeded roles of CogsGuard"),
    "role/NAME": (f"{_TEAMS}:SingleRolePolicy", "one role for all, such as role/BaseMiner"),
    "behavior/NAME": (
        f"{_TEAMS}:SingleBehaviorPolicy",
        "one behavior for all, such as behavior/explore",
    ),
    "cartpole": (
        "kinfolk.policies.scripted.cartpole:CartPoleHeuristic",
        "keeps CartPole's pole up",
    ),
    "mlp": (f"{_NEURAL}:MlpPolicy", "a multilayer perceptron, to be trained"),
    "conv": (f"{_NEURAL}:CnnPolicy", "a convolutional net over the window, to be trained"),
    "gru": (f"{_NEURAL}:GruPolicy", "a recurrent net (GRU), to be trained"),
    "net": (f"{_NEURAL}:CustomNetPolicy", "a torch module of your own: ?module=package.Net"),
    "probe-python": (
        "kinfolk.testing.probe.policies.scripted:PythonForager",
        "a forager in plain Python, for the probe",
    ),
    "probe-explaining": (
        "kinfolk.testing.probe.policies.scripted:ExplainingForager",
        "the forager, explaining its actions",
    ),
    "probe-large-memory": (
        "kinfolk.testing.probe.policies.scripted:LargeMemoryPolicy",
        "100 KB of memory per agent, for the probe",
    ),
    "probe-gru": (
        "kinfolk.testing.probe.policies.neural:ProbeGruPolicy",
        "a small recurrent net, for the probe",
    ),
    "probe-population": (
        "kinfolk.testing.probe.policies.neural:PopulationPolicy",
        "a population of nets, for the probe",
    ),
}
_ENTRIES = {name: RegistryEntry(*entry) for name, entry in _BUILT_IN.items()}
POLICIES = Registry("policy", "policies", _ENTRIES)
_ALIASES = {"metta://policy/role_py": "kin://roles"}  # how users of the earlier system write it
_URI_FORMS = (
    "kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE), "
    "file:POLICY.safetensors or run:RUN[/SLOT][@best|@latest|@STEP]"
)


@dataclass(frozen=True)
class ResolvedPolicy:
    """All that is needed to build a policy; two with equal content are equal.

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
            object.__setattr__(self, "sha256", _compute_digest(self))


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
        entry = unquote(body[len("kin://") :])
        family, slash, member = entry.partition("/")
        if slash and f"{family}/NAME" in POLICIES:  # kin://role/BaseMiner is of the family role
            entry, kwargs = f"{family}/NAME", {"name": member, **kwargs}
        return _read_files(POLICIES.get_entry(entry).import_path, kwargs)
    if scheme == "class":
        return resolve_class(name, kwargs, trusted)
    if scheme in ("file", "run"):
        name = unquote(name)
        saved = read_policy(Path(name) if scheme == "file" else find_policy(name))
        return ResolvedPolicy(saved.class_path, {**saved.settings, **kwargs}, saved.arrays)
    hint = suggest_policy_uri(uri, POLICIES) or f" Write {_URI_FORMS}."
    raise UsageError(f"'{uri}' is not a policy.{hint}")


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
    package = path.partition(":")[0].partition(".")[0]
    if trusted:
        import_object(path)
    elif find_spec(package) is None:
        raise UsageError(f"'{path}' cannot be imported: there is no module {package}.")
    return _read_files(path, settings)


def _read_files(path: str, settings: Mapping[str, Any]) -> ResolvedPolicy:
    """Replace the file names in `settings` by what the files hold."""
    weights = settings.get("weights")
    others = {key: value for key, value in settings.items() if key != "weights"}
    if "history" in others:  # the text is passed on, not the path: workers may not see the file
        is_own = path.startswith("kinfolk.")  # another's class may have histories of its own
        read = read_history_text if is_own else read_text
        others["history"] = read(Path(str(others["history"])))
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
        message = f"{resolved.class_path} cannot be built with these settings: {error}."
        raise SettingsError(message) from None
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
        policy: Any = policy_class(spec, **resolved.settings)
        if resolved.arrays:
            message = f"{resolved.class_path} takes no weights: it has no method load."
            require(hasattr(policy, "load"), message)
            policy.load(resolved.arrays)
        if batch_invariant and hasattr(policy, "require_batch_invariant"):
            policy.require_batch_invariant()
        if hasattr(policy, "initialize_to_environment"):
            policy.initialize_to_environment(spec)
    except errors.KinfolkError:
        raise
    except Exception as error:
        message, source, _ = summarize_error(error)
        message = f"{resolved.class_path} could not be made: {message} ({source})."
        raise errors.PolicyFailedError(message) from error
    _built[id(policy)] = resolved
    finalize(policy, _built.pop, id(policy), None)
    return cast("Policy", policy)


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
        require(name in arrays, f"The weights have no '{name}', which {policy_name} needs.")
        actual, needed = tuple(arrays[name].shape), tuple(shape)
        require(
            actual == needed or (actual == (1,) and needed == ()),  # files have no scalars
            f"The weights '{name}' have shape {actual}; {policy_name} in world {spec.world} "
            f"needs {needed}.",
        )
    for name in arrays:
        if name not in shapes:
            hint = format_suggestion(name, shapes)
            raise SettingsError(f"{policy_name} has no weight '{name}'.{hint}")
    return arrays


def _compute_digest(resolved: ResolvedPolicy) -> str:
    """Return the SHA-256 of class path, settings and weights."""
    text = json.dumps([resolved.class_path, dict(resolved.settings)], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for name in sorted(resolved.arrays):
        array = resolved.arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
