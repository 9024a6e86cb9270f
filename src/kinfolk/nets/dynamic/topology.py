"""The topology of dynamic nets as plain values, for JSON, and back to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinfolk.core.errors import SettingsError
from kinfolk.nets.dynamic.graph import FREE, HIDDEN, INPUT, MAX_SOURCES, OUTPUT, with_capacity
from kinfolk.nets.dynamic.nets import DynamicNets

_NAMES = {INPUT: "input", OUTPUT: "output", HIDDEN: "hidden"}
_KINDS = {name: kind for kind, name in _NAMES.items()}
_SCALARS = ("growths", "prunings", "passes", "locality")


def topology_to_dict(nets: DynamicNets, member: int) -> dict[str, Any]:
    """One member: its scalars, and every node with its edges and calibration, by slot."""
    g = nets.graph
    nodes = []
    for slot in range(int(g.top[member])):
        if g.kind[member, slot] != FREE:
            edges = int((g.source[member, slot] >= 0).sum())
            nodes.append(
                {
                    "slot": slot,
                    "kind": _NAMES[int(g.kind[member, slot])],
                    "sources": g.source[member, slot, :edges].tolist(),
                    "weights": g.weight[member, slot, :edges].tolist(),
                    "running_stats": [float(a[member, slot]) for a in (g.n, g.mean, g.m2)],
                }
            )
    scalars = {name: getattr(g, name)[member].item() for name in _SCALARS}
    return {"inputs": nets.inputs, "outputs": nets.outputs, **scalars, "nodes": nodes}


def nets_from_topologies(members: Sequence[Mapping[str, Any]]) -> DynamicNets:
    """A population of described members.

    Raises:
        SettingsError: There are none, or they differ in inputs or outputs.
    """
    shapes = {(one["inputs"], one["outputs"]) for one in members}
    if len(shapes) != 1:
        raise SettingsError(
            f"Members of one population have the same inputs and outputs; these have {sorted(shapes)}."
        )
    nets = DynamicNets(len(members), *shapes.pop(), zero=True)
    most = max(node["slot"] for one in members for node in one["nodes"]) + 1
    nets.graph = g = with_capacity(nets.graph, most)
    for member, one in enumerate(members):
        for name in _SCALARS:
            getattr(g, name)[member] = one[name]
        g.top[member] = one["nodes"][-1]["slot"] + 1
        for node in one["nodes"]:
            slot, edges = node["slot"], len(node["sources"])
            if edges > MAX_SOURCES:
                raise SettingsError(f"Node {slot} has {edges} sources; {MAX_SOURCES} is the most.")
            g.kind[member, slot] = _KINDS[node["kind"]]
            g.source[member, slot, :edges] = node["sources"]
            g.weight[member, slot, :edges] = node["weights"]
            for array, value in zip((g.n, g.mean, g.m2), node["running_stats"], strict=True):
                array[member, slot] = value
    return nets
