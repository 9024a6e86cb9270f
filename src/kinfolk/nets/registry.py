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
    format_suggestion,
)
from kinfolk.nets.base import BaseNets
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets, StaticNets
from kinfolk.store.arrays import NETS, read_arrays_and_entry

NET_TYPES: Mapping[str, type[Any]] = {
    "feedforward": FeedforwardStaticNets,
    "recurrent": RecurrentStaticNets,
    "dynamic": DynamicNets,
}


def make_nets(
    kind: str,
    num_nets: int,
    inputs: int,
    outputs: int,
    hidden: Sequence[int] = (),
    *,
    key: int | None = None,
    sigma: float = 0.01,
    self_adaptive: bool = False,
    zero: bool = False,
    normalize: bool = False,
) -> Any:
    """Make a population of nets. Dynamic nets ignore all options but `key`.

    Args:
        kind: `feedforward`, `recurrent` or `dynamic`.
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        hidden: Sizes of the hidden layers.
        key: Random key of the initial weights; None draws one from the operating system. It can be
            read as `seed` of the nets.
        sigma: Standard deviation of mutations.
        self_adaptive: Whether each parameter has its own sigma, which mutates and is inherited.
        zero: Whether all parameters begin at zero instead.
        normalize: Whether inputs are standardised by running statistics.

    Raises:
        UnknownNameError: There is no such kind.
    """
    net_type = _find_net_class(kind)
    if not issubclass(net_type, StaticNets):
        return net_type(num_nets, inputs, outputs, key=key)
    options: Any = {"key": key, "sigma": sigma, "self_adaptive": self_adaptive, "zero": zero}
    return net_type(num_nets, inputs, outputs, hidden, normalize=normalize, **options)


def nets_from_config(config: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return the nets that `config()` and `to_arrays()` of a population describe."""
    return _find_net_class(config["kind"]).from_arrays(config, arrays)


def save_nets(path: str | Path, nets: BaseNets) -> None:
    """Write a population to a safetensors file, from which `load_nets` restores every bit."""
    nets.save(path)


def load_nets(path: str | Path) -> Any:
    """Return the population that `save_nets` wrote.

    Raises:
        UsageError: There is no such file, or it holds something else.
        DamagedRunError: It is damaged.
    """
    arrays, config = read_arrays_and_entry(Path(path), NETS)
    try:
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
