"""Kinds of nets by name, and populations of them from plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kinfolk.core.arrays import Arrays
from kinfolk.core.errors import UnknownNameError, format_suggestion
from kinfolk.nets.dynamic.nets import DynamicNets
from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets, StaticNets
from kinfolk.store.arrays import read_arrays_and_metadata, write_arrays

AnyNets: TypeAlias = FeedforwardStaticNets | RecurrentStaticNets | DynamicNets
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
) -> Any:
    """A new population. What a kind has no use for (layers, for dynamic nets) is left aside.

    Args:
        kind: `feedforward`, `recurrent` or `dynamic`.
        num_nets: How many members.
        inputs: Numbers in.
        outputs: Numbers out.
        hidden: Sizes of the hidden layers.
        key: Where the first weights come from; None draws one from the operating system, so that
            no two populations are the same. It can be read as `seed` of the nets.
        sigma: How far a mutation moves each parameter.
        self_adaptive: Each weight has a sigma of its own, which mutates and is inherited.
        zero: Begin with all parameters zero instead.

    Raises:
        UnknownNameError: There is no such kind.
    """
    found = _net_type(kind)
    if not issubclass(found, StaticNets):
        return found(num_nets, inputs, outputs, key=key)
    return found(
        num_nets, inputs, outputs, hidden,
        key=key, sigma=sigma, self_adaptive=self_adaptive, zero=zero,
    )  # fmt: skip


def nets_from_config(config: Mapping[str, Any], arrays: Arrays) -> Any:
    """The nets that their `about()` and `to_arrays()` describe."""
    return _net_type(config["kind"]).from_arrays(config, arrays)


def save_nets(path: Path, nets: AnyNets) -> None:
    """Write a population to a safetensors file; it comes back to the last bit."""
    write_arrays(path, nets.to_arrays(), {"nets": nets.config()})


def load_nets(path: Path) -> Any:
    """The population that `save_nets` wrote.

    Raises:
        UsageError: There is no such file, or it is damaged or holds something else.
    """
    arrays, about = read_arrays_and_metadata(path, "nets")
    return nets_from_config(about, arrays)


def _net_type(kind: str) -> type[Any]:
    if kind not in NET_TYPES:
        raise UnknownNameError(
            f"No kind of net is named '{kind}'.{format_suggestion(kind, NET_TYPES)}"
        )
    return NET_TYPES[kind]
