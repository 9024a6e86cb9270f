"""Kinds of nets by name; making, saving and loading populations of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import (
    DamagedRunError,
    KinfolkError,
    UnknownNameError,
    UsageError,
    format_suggestion,
    require,
)
from kinfolk.nets.base import BaseNets
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets, StaticNets
from kinfolk.store.arrays import NETS, POLICY, read_arrays_and_entry

NET_TYPES: Mapping[str, type[Any]] = {
    "feedforward": FeedforwardStaticNets,
    "recurrent": RecurrentStaticNets,
    "dynamic": DynamicNets,
}

_SIGMA = 0.01  # default standard deviation of mutations


def make_nets(
    kind: str,
    num_nets: int,
    inputs: int,
    outputs: int,
    hidden: Sequence[int] = (),
    *,
    key: int | None = None,
    sigma: float = _SIGMA,
    self_adaptive: bool = False,
    zero: bool = False,
    normalize: bool = False,
) -> Any:
    """Make a population of nets.

    Args:
        kind: `feedforward`, `recurrent` or `dynamic`.
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        hidden: Sizes of the hidden layers. Dynamic nets have none, nor any option but `key`.
        key: Random key of the initial weights; None draws one from the operating system. It can be
            read as `seed` of the nets.
        sigma: Standard deviation of mutations.
        self_adaptive: Whether each parameter has its own sigma, which mutates and is inherited.
        zero: Whether all parameters begin at zero instead.
        normalize: Whether inputs are standardised by running statistics.

    Raises:
        UnknownNameError: There is no such kind.
        SettingsError: Dynamic nets were given an option that they do not have.
    """
    net_type = _find_net_class(kind)
    if issubclass(net_type, StaticNets):
        options: Any = {"key": key, "sigma": sigma, "self_adaptive": self_adaptive, "zero": zero}
        return net_type(num_nets, inputs, outputs, hidden, normalize=normalize, **options)
    is_static = hidden or self_adaptive or zero or normalize or sigma != _SIGMA
    message = (
        "Dynamic nets have no hidden, sigma, self_adaptive, zero or normalize: leave them out."
    )
    require(not is_static, message)
    return net_type(num_nets, inputs, outputs, key=key)


def nets_from_config(config: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return the nets that `config()` and `to_arrays()` of a population describe."""
    return _find_net_class(config["kind"]).from_arrays(config, arrays)


def save_nets(path: str | Path, nets: BaseNets) -> None:
    """Write a population to a safetensors file, from which `load_nets` restores every bit."""
    nets.save(path)


def load_nets(path: str | Path) -> Any:
    """Return the population that `save_nets` wrote, or the net of a policy that was evolved.

    Args:
        path: File of `save_nets`, or `policies/POPULATION/best.safetensors` and such of a run.

    Raises:
        UsageError: There is no such file, or it holds something else.
        DamagedRunError: It is damaged.
    """
    arrays, config = read_arrays_and_entry(Path(path), NETS, POLICY)
    try:
        if "class_path" in config:
            if "nets" not in config["settings"]:
                raise UsageError(
                    f"{path} holds a policy of the class {config['class_path']}, not evolved nets: "
                    f"play it as file:{path}."
                )
            config = config["settings"]["nets"]
        nets = nets_from_config(config, arrays)
        if "counter" in config:  # not in files of earlier versions
            nets.load_counter(config["counter"])
        return nets
    except KinfolkError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DamagedRunError(f"{path} is damaged: it does not describe nets ({reason}).") from None


def _find_net_class(kind: str) -> type[Any]:
    """Return the class of a kind of nets, or raise UnknownNameError."""
    if kind not in NET_TYPES:
        hint = format_suggestion(kind, NET_TYPES)
        raise UnknownNameError(f"No kind of net is named '{kind}'.{hint}")
    return NET_TYPES[kind]
