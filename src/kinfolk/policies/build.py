"""Build policies from plain values in any process.

Workers, cluster nodes and sandboxes get a `ResolvedPolicy` and nothing else: no path, no code and no
pickle, only the name of a class, its settings and its weights. `resolve.py` makes one from a URI.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import finalize

from kinfolk.core import errors
from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import SettingsError, format_suggestion, require, summarize_error
from kinfolk.core.imports import import_object
from kinfolk.core.spaces import WorldSpec
from kinfolk.core.trust import untrusted
from kinfolk.policies.base import Policy
from kinfolk.policies.own_policies import OBJECT_SCHEME, find_own_policy


@dataclass(frozen=True)
class ResolvedPolicy:
    """All that is needed to build a policy; two with equal content are equal.

    Attributes:
        class_path: Import path of the policy's class.
        settings: Keyword arguments of its constructor, plain JSON values.
        arrays: Weights for its `load`; empty if it has none.
        sha256: Digest of the above, computed if empty.
        source_file: The file that names class and settings, which may be a stranger's; None: the user.
    """

    class_path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict, compare=False)
    sha256: str = ""
    source_file: str | None = field(default=None, compare=False)

    @property
    def is_from_file(self) -> bool:
        """Whether class and settings were read from a file, which may be a stranger's."""
        return self.source_file is not None

    def __post_init__(self) -> None:
        if not self.sha256:
            object.__setattr__(self, "sha256", _compute_digest(self))


def load_policy_class(resolved: ResolvedPolicy) -> Callable[..., Policy]:
    """Import the class of a policy and check that it accepts the settings.

    Raises:
        SettingsError: A setting is unknown, or a required one is missing.
        UntrustedCodeError: A file that is not trusted names a class from outside of kinfolk.
    """
    path = resolved.class_path
    policy_class: Callable[..., Policy]
    with untrusted(resolved.source_file):
        if path.startswith(OBJECT_SCHEME):
            policy_class = find_own_policy(path.removeprefix(OBJECT_SCHEME))
        else:
            policy_class = import_object(path)
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


def learns_between_episodes(
    resolved: ResolvedPolicy, find_spec: Callable[[], WorldSpec] | None = None
) -> bool:
    """Return whether a policy changes from one episode to the next: it has `end_episode`.

    Args:
        resolved: The policy, whose class is imported. A class that makes another policy tells it by
            `learns(settings)`.
        find_spec: Returns the spec of the world, with which a function is called that makes the
            policy; None only for classes.
    """
    policy_class: Any = load_policy_class(resolved)
    if hasattr(policy_class, "learns"):
        return bool(policy_class.learns(resolved.settings))
    if inspect.isclass(policy_class) or find_spec is None:
        return hasattr(policy_class, "end_episode")
    return hasattr(build_policy(resolved, find_spec()), "end_episode")


def build_policy(resolved: ResolvedPolicy, spec: WorldSpec, batch_invariant: bool = True) -> Policy:
    """Build a policy: `Class(spec, **settings)`, then `load(arrays)` if there are weights.

    A class that has a parameter `weights` instead of a method `load` gets the path of a safetensors
    file there, which is removed when the policy is built: the file that the user named may be on
    another machine.

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
        with untrusted(resolved.source_file):
            policy: Any
            if resolved.arrays and _reads_weights_file(policy_class):
                from kinfolk.store.arrays import (
                    temporary_arrays_file,
                )  # few policies need files here

                with temporary_arrays_file(resolved.arrays) as path:
                    policy = policy_class(spec, **resolved.settings, weights=str(path))
            else:
                policy = policy_class(spec, **resolved.settings)
                if resolved.arrays:
                    require(
                        hasattr(policy, "load"),
                        f"{resolved.class_path} takes no weights: it has neither a method `load(arrays)` nor "
                        f"a parameter `weights`, the path of a file.",
                    )
                    policy.load(resolved.arrays)
            if batch_invariant and hasattr(policy, "require_batch_invariant"):
                policy.require_batch_invariant()
            if hasattr(policy, "initialize_to_environment"):
                policy.initialize_to_environment(spec)
            _require_policy(policy, resolved.class_path)
    except errors.KinfolkError:
        raise
    except Exception as error:
        message, source, _ = summarize_error(error)
        message = f"{resolved.class_path} could not be made: {message} ({source})."
        raise errors.PolicyFailedError(message) from error
    _built[id(policy)] = resolved
    finalize(policy, _built.pop, id(policy), None)
    return cast("Policy", policy)


def _reads_weights_file(policy_class: Callable[..., Policy]) -> bool:
    """Return whether a class reads its weights from a file by itself."""
    takes_path = "weights" in inspect.signature(policy_class).parameters
    return takes_path and not hasattr(policy_class, "load")


def _require_policy(policy: Any, class_path: str) -> None:
    """Check that an object has the methods of a policy.

    Raises:
        SettingsError: It has not, such as a torch module.
    """
    missing = [name for name in ("act_async", "act_wait", "close") if not hasattr(policy, name)]
    base = "kinfolk.DictPolicy or kinfolk.BatchDictPolicy"
    require(
        not missing,
        f"{class_path} is no policy: it has no method {' and no '.join(missing)}. Derive it from {base}; "
        f"a torch module becomes a policy as an attribute of such a class, or by kin://net?module=.",
    )


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
