"""Populations of networks: `(x, mem) -> (out, mem)`, for all members at once.

Memory is an argument and a result. Output heads (`kinfolk.nets.heads`) turn outputs into actions.
Every name is imported when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk.core.imports import export_lazily

if TYPE_CHECKING:
    from kinfolk.nets.base import BaseNets
    from kinfolk.nets.dynamic.nets import DynamicNets, nets_from_topologies, topology_to_dict
    from kinfolk.nets.heads import decode_actions, softmax, softmax_sample
    from kinfolk.nets.own_nets import FunctionNets, ModuleNets
    from kinfolk.nets.parameters import ParameterNets
    from kinfolk.nets.registry import load_nets, make_nets, save_nets
    from kinfolk.nets.static import FeedforwardStaticNets, RecurrentStaticNets

__all__ = ["BaseNets", "DynamicNets", "FeedforwardStaticNets", "FunctionNets", "ModuleNets"]
__all__ += ["ParameterNets", "RecurrentStaticNets", "decode_actions", "load_nets", "make_nets"]
__all__ += ["nets_from_topologies", "save_nets", "softmax", "softmax_sample", "topology_to_dict"]

export_lazily(__name__)
