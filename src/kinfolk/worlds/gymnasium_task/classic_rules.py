"""Rules of Gymnasium's classic control tasks as kernels, equal to Gymnasium's in every bit.

Gymnasium computes one environment at a time, mostly on numpy scalars. So the order of operations, the
powers (numpy squares scalars by `pow`, whose last bit may differ from a product) and the precision of
each step are those of its sources. The exponent `two` is an argument, as compilers would replace a
constant by a product.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, Floats
from kinfolk.core.jit import allocation_free_kernel, inline, inline_always

CARTPOLE, ACROBOT, MOUNTAIN_CAR, PENDULUM = 0, 1, 2, 3
STATE_SIZES = (4, 4, 2, 2)
OBSERVATION_SIZES = (4, 6, 2, 3)

_THETA_LIMIT = 12 * 2 * math.pi / 360
_POLE_MASS_LENGTH = 0.1 * 0.5
_TOTAL_MASS = 0.1 + 1.0
_HALF_PI = math.pi / 2.0
_TWO_PI = 2 * math.pi
_MAX_VELOCITY_1, _MAX_VELOCITY_2 = 4 * math.pi, 9 * math.pi
_LINK_GRAVITY = (1.0 * 0.5 + 1.0 * 1.0) * 9.8
_SECOND_LINK_GRAVITY = 1.0 * 0.5 * 9.8
_DT_6 = 0.2 / 6.0


@inline_always
def step_cartpole(state: Floats, action: float) -> Any:
    """Advance a cart pole; return reward and whether it has fallen."""
    x, x_dot, theta, theta_dot = state[0], state[1], state[2], state[3]
    force = 10.0 if action == 1.0 else -10.0
    cos_theta, sin_theta = math.cos(theta), math.sin(theta)
    pull = force + _POLE_MASS_LENGTH * (theta_dot * theta_dot) * sin_theta
    temp = pull / _TOTAL_MASS
    inertia = 0.5 * (4.0 / 3.0 - 0.1 * (cos_theta * cos_theta) / _TOTAL_MASS)
    theta_acc = (9.8 * sin_theta - cos_theta * temp) / inertia
    x_acc = temp - _POLE_MASS_LENGTH * theta_acc * cos_theta / _TOTAL_MASS
    state[0] = x + 0.02 * x_dot
    state[1] = x_dot + 0.02 * x_acc
    state[2] = theta + 0.02 * theta_dot
    state[3] = theta_dot + 0.02 * theta_acc
    has_left = state[0] < -2.4 or state[0] > 2.4
    return 1.0, has_left or state[2] < -_THETA_LIMIT or state[2] > _THETA_LIMIT


@inline
def _accelerate(
    theta1: float, theta2: float, dtheta1: float, dtheta2: float, torque: float, two: float
) -> Any:
    """Return the accelerations of both links of an acrobot (Sutton and Barto's equations).

    Args:
        theta1: Angle of the first link.
        theta2: Angle of the second, relative to the first.
        dtheta1: Velocity of the first link.
        dtheta2: Velocity of the second.
        torque: Torque at the joint between them.
        two: The number 2.
    """
    cos2, sin2 = math.cos(theta2), math.sin(theta2)
    d1 = 0.25 + 1.0 * (1.25 + 1.0 * cos2) + 1.0 + 1.0
    d2 = 1.0 * (0.25 + 0.5 * cos2) + 1.0
    phi2 = _SECOND_LINK_GRAVITY * math.cos(theta1 + theta2 - _HALF_PI)
    phi1 = (
        -0.5 * dtheta2**two * sin2
        - 1.0 * dtheta2 * dtheta1 * sin2
        + _LINK_GRAVITY * math.cos(theta1 - _HALF_PI)
        + phi2
    )
    pull = torque + d2 / d1 * phi1 - 0.5 * dtheta1**two * sin2 - phi2
    ddtheta2 = pull / (0.25 + 1.0 - d2**two / d1)
    ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
    return ddtheta1, ddtheta2


@inline
def _wrap(angle: float) -> float:
    """Return an angle within -pi and pi."""
    while angle > math.pi:
        angle = angle - _TWO_PI
    while angle < -math.pi:
        angle = angle + _TWO_PI
    return angle


@inline
def step_acrobot(state: Floats, action: float, two: float) -> Any:
    """Advance an acrobot by a step of Runge and Kutta; return reward and whether it is up.

    Args:
        state: `[4]`, both angles and their velocities; changed.
        action: 0, 1 or 2, for a torque of -1, 0 or 1.
        two: The number 2.
    """
    torque = action - 1.0
    a1, a2, v1, v2 = state[0], state[1], state[2], state[3]
    k11, k12 = v1, v2
    k13, k14 = _accelerate(a1, a2, v1, v2, torque, two)
    k21, k22 = v1 + 0.1 * k13, v2 + 0.1 * k14
    k23, k24 = _accelerate(a1 + 0.1 * k11, a2 + 0.1 * k12, k21, k22, torque, two)
    k31, k32 = v1 + 0.1 * k23, v2 + 0.1 * k24
    k33, k34 = _accelerate(a1 + 0.1 * k21, a2 + 0.1 * k22, k31, k32, torque, two)
    k41, k42 = v1 + 0.2 * k33, v2 + 0.2 * k34
    k43, k44 = _accelerate(a1 + 0.2 * k31, a2 + 0.2 * k32, k41, k42, torque, two)
    state[0] = _wrap(a1 + _DT_6 * (k11 + 2 * k21 + 2 * k31 + k41))
    state[1] = _wrap(a2 + _DT_6 * (k12 + 2 * k22 + 2 * k32 + k42))
    velocity1 = v1 + _DT_6 * (k13 + 2 * k23 + 2 * k33 + k43)
    velocity2 = v2 + _DT_6 * (k14 + 2 * k24 + 2 * k34 + k44)
    state[2] = min(max(velocity1, -_MAX_VELOCITY_1), _MAX_VELOCITY_1)
    state[3] = min(max(velocity2, -_MAX_VELOCITY_2), _MAX_VELOCITY_2)
    is_up = -math.cos(state[0]) - math.cos(state[1] + state[0]) > 1.0
    return 0.0 if is_up else -1.0, is_up


@inline_always
def step_mountain_car(state: Floats, action: float) -> Any:
    """Advance a car; return reward and whether it is on the mountain."""
    position, velocity = state[0], state[1]
    velocity += (action - 1.0) * 0.001 + math.cos(3 * position) * (-0.0025)
    velocity = min(max(velocity, -0.07), 0.07)
    position += velocity
    position = min(max(position, -1.2), 0.6)
    if position == -1.2 and velocity < 0.0:
        velocity = 0.0
    state[0], state[1] = position, velocity
    return -1.0, position >= 0.5 and velocity >= 0.0


@inline_always
def step_pendulum(state: Floats, action: float, two: float) -> Any:
    """Advance a pendulum; return reward and False, as it never ends by itself.

    Args:
        state: `[2]`, angle and velocity; changed.
        action: Torque, clipped to -2 and 2.
        two: The number 2.
    """
    theta, velocity = state[0], state[1]
    torque = np.float32(min(max(np.float32(action), np.float32(-2.0)), np.float32(2.0)))
    effort = np.float32(np.float32(0.001) * torque ** np.float32(two))
    angle = ((theta + math.pi) % _TWO_PI) - math.pi
    cost = angle**two + 0.1 * velocity**two + effort
    pull = np.float32(np.float32(3.0) * torque)
    velocity = velocity + (15.0 * math.sin(theta) + pull) * 0.05
    velocity = min(max(velocity, -8.0), 8.0)
    state[0], state[1] = theta + velocity * 0.05, velocity
    return -cost, False


@inline_always
def step_task(kind: int, state: Floats, action: float, two: float) -> Any:
    """Advance one task; return reward and whether the episode ended by the rules.

    Args:
        kind: `CARTPOLE`, `ACROBOT`, `MOUNTAIN_CAR` or `PENDULUM`.
        state: State of the task, changed.
        action: Number of the choice, or the torque of a pendulum.
        two: The number 2.
    """
    if kind == CARTPOLE:
        return step_cartpole(state, action)
    if kind == ACROBOT:
        return step_acrobot(state, action, two)
    if kind == MOUNTAIN_CAR:
        return step_mountain_car(state, action)
    return step_pendulum(state, action, two)


@inline_always
def observe_task(kind: int, state: Floats, out: AnyArray) -> None:
    """Write the observation of a task that has been stepped.

    Args:
        kind: `CARTPOLE`, `ACROBOT`, `MOUNTAIN_CAR` or `PENDULUM`.
        state: State of the task.
        out: float32, written.
    """
    if kind == ACROBOT:
        out[0], out[1] = math.cos(state[0]), math.sin(state[0])
        out[2], out[3] = math.cos(state[1]), math.sin(state[1])
        out[4], out[5] = state[2], state[3]
    elif kind == PENDULUM:
        out[0], out[1], out[2] = math.cos(state[0]), math.sin(state[0]), state[1]
    else:
        for i in range(state.shape[0]):
            out[i] = state[i]


@allocation_free_kernel
def step_tasks(
    kind: int,
    state: Floats,
    actions: Floats,
    active: AnyArray,
    two: float,
    observation: AnyArray,
    reward: Floats,
    terminated: AnyArray,
) -> None:
    """Advance the active tasks, and write their observation, reward and end.

    Args:
        kind: `CARTPOLE`, `ACROBOT`, `MOUNTAIN_CAR` or `PENDULUM`.
        state: `[tasks, numbers]`, changed.
        actions: `[tasks]`, numbers of choices, or torques.
        active: `[tasks]`, which tasks are stepped.
        two: The number 2.
        observation: `[tasks, size]` float32, written.
        reward: `[tasks]`, written.
        terminated: `[tasks]`, written.
    """
    for i in range(state.shape[0]):
        if active[i]:
            reward[i], terminated[i] = step_task(kind, state[i], actions[i], two)
            observe_task(kind, state[i], observation[i])
