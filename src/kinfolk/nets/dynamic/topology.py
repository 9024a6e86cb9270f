"""Convert the topology of dynamic nets to JSON values and back, without loss of a bit."""

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
    """Return a member's scalars, and its nodes with their edges and running statistics."""
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
    """Return the population of members that `topology_to_dict` described.

    Raises:
        SettingsError: There are no members, they differ in inputs or outputs, or a node has too
            many sources.
    """
    shapes = {(topology["inputs"], topology["outputs"]) for topology in members}
    if len(shapes) != 1:
        raise SettingsError(
            f"Members of a population must have the same inputs and outputs, not {sorted(shapes)}."
        )
    nets = DynamicNets(len(members), *shapes.pop(), zero=True)
    capacity = max(node["slot"] for topology in members for node in topology["nodes"]) + 1
    nets.graph = g = with_capacity(nets.graph, capacity)
    for member, topology in enumerate(members):
        for name in _SCALARS:
            getattr(g, name)[member] = topology[name]
        g.top[member] = topology["nodes"][-1]["slot"] + 1
        for node in topology["nodes"]:
            slot, edges = node["slot"], len(node["sources"])
            if edges > MAX_SOURCES:
                raise SettingsError(
                    f"Node {slot} has {edges} sources; at most {MAX_SOURCES} are allowed."
                )
            g.kind[member, slot] = _KINDS[node["kind"]]
            g.source[member, slot, :edges] = node["sources"]
            g.weight[member, slot, :edges] = node["weights"]
            for array, value in zip((g.n, g.mean, g.m2), node["running_stats"], strict=True):
                array[member, slot] = value
    return nets
