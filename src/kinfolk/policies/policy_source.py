"""Find what another process needs to build a policy again: class path, arguments and weights."""

from __future__ import annotations

import inspect
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.policies.build import ResolvedPolicy, find_resolved
from kinfolk.policies.multi_agent import MultiAgentPolicy, PolicySpec
from kinfolk.policies.single_agent import BatchedPolicyAgents


def find_policy_source(policy: Any) -> PolicySpec | ResolvedPolicy:
    """Return what another process needs to build a policy again.

    Raises:
        SettingsError: Its class cannot be imported there, or its arguments or weights are unknown.
    """
    if isinstance(policy, PolicySpec | ResolvedPolicy):
        return policy
    built = policy.policy if isinstance(policy, BatchedPolicyAgents) else policy
    resolved = find_resolved(built)
    if resolved is not None:
        return resolved
    name = type(built).__name__
    if not isinstance(built, MultiAgentPolicy):
        raise SettingsError(
            f"{name} was not built by kinfolk, so its settings and weights are unknown. "
            f"Pass a PolicySpec with class path, weights and arguments instead."
        )
    if hasattr(built, "load"):
        raise SettingsError(
            f"{name} has a method load, and was not built by kinfolk, so its weights are unknown. Build "
            f"it by initialize_or_load_policy(env_info, PolicySpec(class_path, data_path))."
        )
    return ResolvedPolicy(find_class_path(type(built)), _find_arguments(built))


def find_class_path(policy_class: type) -> str:
    """Return the path by which another process can import a class.

    Raises:
        SettingsError: It is defined in a function, or in a script that cannot be imported.
    """
    module, name = policy_class.__module__, policy_class.__qualname__
    if module == "__main__":  # a script: its folder is in `sys.path`, so its name can be imported
        file = getattr(sys.modules["__main__"], "__file__", None) or ""
        module = Path(file).stem
        # A package that is run by `python -m` has the file __main__.py, which means another one elsewhere.
        is_script = file.endswith(".py") and module != "__main__"
        module_spec = find_spec(module) if is_script else None
        if (
            module_spec is None
            or module_spec.origin is None
            or not Path(module_spec.origin).samefile(file)
        ):
            module = ""
    if not module or "<locals>" in name:
        raise SettingsError(
            f"Another process cannot import {name}. Define it at the top level of a module."
        )
    return f"{module}:{name}"


def _find_arguments(policy: MultiAgentPolicy) -> dict[str, Any]:
    """Return the keyword arguments with which a policy was built, beside the world's spec.

    Raises:
        SettingsError: One of them is not a JSON value.
    """
    args, kwargs = policy._init_arguments
    signature, arguments = inspect.signature(type(policy)), dict[str, Any]()
    for name, value in list(signature.bind(*args, **kwargs).arguments.items())[1:]:
        is_table = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        arguments |= value if is_table else {name: value}
    for name, value in arguments.items():
        if not _is_plain(value):
            raise SettingsError(
                f"{type(policy).__name__} was built with {name}={value!r}, which cannot be sent to "
                f"another process. Use numbers, texts, lists and tables."
            )
    return arguments


def _is_plain(value: Any) -> bool:
    """Return whether JSON can hold a value without a change."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
