"""Resolve policy URIs into plain values, from which `build.py` builds policies in any process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from kinfolk.core.errors import UsageError, escape_text
from kinfolk.core.imports import Registry, RegistryEntry, find_top_module, import_object
from kinfolk.core.settings import parse_value
from kinfolk.policies.build import ResolvedPolicy, learns_between_episodes
from kinfolk.policies.own_policies import (
    OBJECT_SCHEME,
    find_object_uris,
    find_own_policy,
    make_other_process_error,
)
from kinfolk.policies.policy_code import find_policy_class, split_code_file
from kinfolk.policies.uri_hints import suggest_policy_uri
from kinfolk.roles.history_file import read_history_text
from kinfolk.store.arrays import read_arrays, read_policy
from kinfolk.store.files import read_text
from kinfolk.store.policy_references import find_policy
from kinfolk.store.run import find_author

_SAVANNA = "kinfolk.policies.scripted.savanna"
_NEURAL = "kinfolk.policies.neural.architectures"
_TEAMS = "kinfolk.policies.scripted.cogsguard.teams"
_BUILT_IN = {  # import path and description
    "random": ("kinfolk.policies.base:RandomPolicy", "draws every action uniformly"),
    "noop": ("kinfolk.policies.base:NoopPolicy", "does nothing"),
    "hunter": (f"{_SAVANNA}.hunter:Hunter", "hunts prey, alone or in teams, in the savanna"),
    "grazer": (f"{_SAVANNA}.grazer:Grazer", "grazes and flees, in the savanna"),
    "roles": (
        "kinfolk.policies.scripted.cogsguard.evolved_roles:CogsguardPolicy",
        "roles of CogsGuard by count, ?miner=4&scrambler=2, or evolving",
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
_SCHEMES = ("class", "file", "run", OBJECT_SCHEME.removesuffix(":"))  # of URIs without slashes
_MAX_NAME_LENGTH, _SHOWN_NAME_LENGTH = 1000, 80  # of classes and settings in policy files
_URI_FORMS = (
    "kin://NAME or class:package.module.Class, each with ?key=value (weights=FILE), "
    "file:POLICY.safetensors, file:POLICY.py[:Class] or run:RUN[/SLOT][@best|@latest|@STEP]"
)


def resolve(
    uri: str, settings: Mapping[str, Any] | None = None, trusted: bool = True
) -> ResolvedPolicy:
    """Resolve a policy URI, reading the files that it names.

    Args:
        uri: The URI. `weights=FILE` and `history=FILE` in its query are read here; how a class gets
            its weights says `build_policy`.
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
    if not trusted:  # it is built in a worker process, which does not have objects of this one
        for name in find_object_uris(kwargs):
            raise make_other_process_error(name)
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
    if body.startswith(OBJECT_SCHEME):
        if not trusted:  # it would be built in a worker process, which does not have it
            raise make_other_process_error(body)
        find_own_policy(name)
        return ResolvedPolicy(body, kwargs)
    if scheme in ("file", "run"):
        name = unquote(name)
        code = split_code_file(name) if scheme == "file" else None
        if code is not None:
            class_path = find_policy_class(*code)
            if trusted:
                import_object(class_path)
            return _read_files(class_path, kwargs)
        path = Path(name) if scheme == "file" else find_policy(name)
        saved = read_policy(path)
        _check_names(name, [saved.class_path, *saved.settings])
        merged = {**saved.settings, **kwargs}
        author = find_author(path)
        source = None if author is None else str(author)
        return ResolvedPolicy(saved.class_path, merged, saved.arrays, source_file=source)
    hint = suggest_policy_uri(uri, POLICIES) or f" Write {_URI_FORMS}."
    raise UsageError(f"'{uri}' is not a policy.{hint}")


def resolve_named(
    name: str, settings: Mapping[str, Any] | None = None, trusted: bool = True
) -> ResolvedPolicy:
    """Resolve a policy that is named by a URI or by the import path of its class, as `resolve` does."""
    scheme = name.partition(":")[0]
    if "://" in name or scheme in _SCHEMES:
        return resolve(name, settings, trusted)
    return resolve_class(name, settings or {}, trusted)


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
    elif find_top_module(package) is None:
        raise UsageError(f"'{path}' cannot be imported: there is no module {package}.")
    return _read_files(path, settings)


def _check_names(file: str, names: Sequence[str]) -> None:
    """Check the names in a policy file, which a stranger may have chosen and which messages quote.

    Raises:
        UsageError: One is very long, or would not print as it is.
    """
    for name in names:
        if len(name) > _MAX_NAME_LENGTH or not name.isprintable():
            text = escape_text(name[:_SHOWN_NAME_LENGTH])
            raise UsageError(
                f"{file} names a class or setting '{text}' of {len(name):,} characters; a name has at "
                f"most {_MAX_NAME_LENGTH}, and they must be printable."
            )


def _read_files(path: str, settings: Mapping[str, Any]) -> ResolvedPolicy:
    """Replace the file names in `settings` by what the files hold."""
    weights = settings.get("weights")
    others = {key: value for key, value in settings.items() if key != "weights"}
    if "history" in others:
        file = Path(str(others["history"]))
        is_own = path.startswith("kinfolk.")  # another's class may have histories of its own
        if is_own and learns_between_episodes(ResolvedPolicy(path, others)):
            others["history"] = str(file.absolute())  # it is written after every episode
        else:  # the text is passed on, not the path: workers may not see the file
            read = read_history_text if is_own else read_text
            others["history"] = read(file)
    return ResolvedPolicy(path, others, {} if weights is None else read_arrays(Path(str(weights))))
