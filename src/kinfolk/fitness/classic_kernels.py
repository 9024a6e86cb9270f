"""Whole episodes of classic control tasks in one kernel: forward pass, action, step.

Every number is that of the episode loop: the parts are the same functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats, Ints
from kinfolk.core.jit import allocation_free_kernel, inline_always
from kinfolk.nets.dynamic.forward import NodeState, run_node_passes
from kinfolk.nets.dynamic.graph import GraphArrays
from kinfolk.nets.forward import run_row
from kinfolk.nets.numerics import tanh_float32
from kinfolk.nets.running_stats import RunningStats, normalize_row
from kinfolk.worlds.gymnasium_task.classic_rules import observe_task, step_task

ARGMAX, TANH, RAW = 0, 1, 2  # output heads
_MAX_TORQUE = 2.0  # of a pendulum, the only task without choices


class ClassicEpisodes(NamedTuple):
    """Episodes of one task, one row each; `state` and all below change."""

    member: Ints  # [rows], which net plays
    state: Floats  # [rows, numbers]
    observation: AnyArray  # [rows, size] float32, the first and then the latest
    returns: Floats  # [rows], sum of rewards
    ticks: Ints  # [rows], steps
    sums: Floats  # [rows, size], sum of all observations after a step
    is_over: AnyArray  # [rows], whether the episode ended by the rules


@inline_always
def choose_action(head: int, out: AnyArray, n_choices: int) -> float:
    """Return the number of the choice, or the torque, that outputs stand for.

    Args:
        head: `ARGMAX`, `TANH` or `RAW`.
        out: Outputs, float32.
        n_choices: Number of choices; 0 for a torque.
    """
    if n_choices == 0:
        fraction = float(out[0]) if head == RAW else float(tanh_float32(out[0]))
        torque = -_MAX_TORQUE + (fraction + 1.0) / 2.0 * (_MAX_TORQUE + _MAX_TORQUE)
        return float(np.float32(min(max(torque, -_MAX_TORQUE), _MAX_TORQUE)))
    if head == ARGMAX:
        best = 0
        for i in range(1, n_choices):
            if out[i] > out[best]:
                best = i
        return float(best)
    value = float(out[0])
    number = float(tanh_float32(out[0])) if head == TANH else min(max(value, -1.0), 1.0)
    return float(np.rint((number + 1.0) / 2.0 * (n_choices - 1)))


@inline_always
def step_row(kind: int, e: ClassicEpisodes, i: int, action: float, two: float) -> None:
    """Step one episode and record the outcome.

    Args:
        kind: Number of the task in `classic_rules`.
        e: The episodes, changed.
        i: Which of them.
        action: Choice or torque.
        two: The number 2; see `classic_rules`.
    """
    reward, is_over = step_task(kind, e.state[i], action, two)
    observe_task(kind, e.state[i], e.observation[i])
    e.returns[i] += reward
    e.ticks[i] += 1
    e.is_over[i] = is_over
    for j in range(e.observation.shape[1]):
        e.sums[i, j] += e.observation[i, j]


@allocation_free_kernel
def play_static(
    kind: int,
    limit: int,
    head: int,
    n_choices: int,
    two: float,
    e: ClassicEpisodes,
    flat: AnyArray,
    layout: Ints,
    hidden: AnyArray,
    normalizes: bool,
    stats: RunningStats,
    stats_row: Ints,
    update_stats: bool,
    scratch: AnyArray,
) -> None:
    """Play episodes with nets of fixed topology.

    Args:
        kind: Number of the task in `classic_rules`.
        limit: Steps of an episode at most.
        head: `ARGMAX`, `TANH` or `RAW`.
        n_choices: Number of choices; 0 for a torque.
        two: The number 2; see `classic_rules`.
        e: The episodes, changed.
        flat: `[nets, parameters]`.
        layout: `[layers, 8]`, the `LayerLayout` of each layer.
        hidden: `[rows, sizes]`, hidden states, changed.
        normalizes: Whether the nets normalise their inputs.
        stats: `[copies, inputs]` each, running statistics of inputs.
        stats_row: `[rows]`, which of them each row uses.
        update_stats: Whether they are updated.
        scratch: `[2, widest layer]`, overwritten.
    """
    # Step by step, not episode by episode: steps of different rows do not wait for each other.
    for _ in range(limit):
        is_playing = False
        for i in range(e.member.shape[0]):
            if e.ticks[i] >= limit or e.is_over[i]:
                continue
            is_playing = True
            if normalizes:
                normalize_row(e.observation[i], stats_row[i], stats, update_stats, scratch[0])
            else:
                for j in range(e.observation.shape[1]):
                    scratch[0, j] = e.observation[i, j]
            row = run_row(flat, layout, e.member[i], hidden[i], scratch)
            step_row(kind, e, i, choose_action(head, scratch[row], n_choices), two)
        if not is_playing:
            return


@allocation_free_kernel
def play_dynamic(
    kind: int,
    limit: int,
    head: int,
    n_choices: int,
    two: float,
    e: ClassicEpisodes,
    graph: GraphArrays,
    nodes: NodeState,
    stats_row: Ints,
    update_stats: bool,
    inputs: Floats,
    sums: Floats,
    out: AnyArray,
) -> None:
    """Play episodes with dynamic nets.

    Args:
        kind: Number of the task in `classic_rules`.
        limit: Steps of an episode at most.
        head: `ARGMAX`, `TANH` or `RAW`.
        n_choices: Number of choices; 0 for a torque.
        two: The number 2; see `classic_rules`.
        e: The episodes, changed.
        graph: The population.
        nodes: `[rows, capacity]` memory, and `[copies, capacity]` running statistics; changed.
        stats_row: `[rows]`, which copy of the statistics each row uses.
        update_stats: Whether they are updated.
        inputs: `[inputs]`, scratch.
        sums: `[capacity]`, scratch.
        out: `[outputs]` float32, scratch.
    """
    for i in range(e.member.shape[0]):
        while e.ticks[i] < limit and not e.is_over[i]:
            for j in range(inputs.shape[0]):
                inputs[j] = e.observation[i, j]
            run_node_passes(graph, e.member[i], i, stats_row[i], inputs, nodes, update_stats, sums)
            for j in range(out.shape[0]):
                out[j] = nodes.z[i, inputs.shape[0] + j]
            step_row(kind, e, i, choose_action(head, out, n_choices), two)
