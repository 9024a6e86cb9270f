"""Export neural policies to formats that play without kinfolk: TorchScript and ONNX."""

from __future__ import annotations

import copy
import io
import warnings
from importlib.util import find_spec
from typing import Any

from kinfolk.core.errors import ContractError, SettingsError
from kinfolk.core.imports import make_missing_library_error, optional_import
from kinfolk.core.spaces import WorldSpec
from kinfolk.policies.neural.policy import NeuralPolicy

with optional_import("Exporting a policy"):
    import torch
    from torch import Tensor, nn

FORMATS = ("torchscript", "onnx", "safetensors")
_TRIED_ROWS = 3  # another number than that of the traced example


class StandalonePolicy(nn.Module):
    """A policy from observations to its most likely actions, in torch alone.

    `forward(observation [n, size])` returns `(action [n, heads], logits [n, outputs], value [n])`;
    that of a recurrent net takes and returns the memory as well, zeros at the start of an episode.
    An action is an index per head, or a number if the heads are continuous, within its bounds.

    Args:
        policy: The policy.

    Attributes:
        size: Numbers of an observation: those of the world's fields side by side or, where these are
            not plain float32 numbers, the encoded inputs of the net.
        takes_observations: Whether the input is the observation itself.
    """

    def __init__(self, policy: NeuralPolicy) -> None:
        super().__init__()
        self.net = copy.deepcopy(policy.module).requires_grad_(False)
        layout, spec = policy.layout, policy.input_spec
        self._sizes, self._squashed = layout.sizes, layout.squashed
        self._ranges: list[list[float]] = layout.ranges.tolist()
        self._bounds: list[list[float]] = spec.action_bounds[0].tolist()
        self._is_number: list[bool] = (layout.n_choices[0] == 0).tolist()
        self.memory_size = policy.memory_size
        self._inputs = policy.encoder.shape.inputs
        self.takes_observations = _has_plain_observations(policy.spec, spec)
        self.size = self._inputs
        if self.takes_observations:
            self.size = sum(field.n_bytes // 4 for field in spec.groups[0].fields)

    def forward(self, observation: Tensor, memory: Tensor | None = None) -> tuple[Tensor, ...]:
        """Return actions, logits, values and the next memory of a recurrent net."""
        x = nn.functional.pad(observation, (0, self._inputs - self.size))
        outputs = self.net(x) if memory is None else self.net(x, memory)
        logits, value, *state = outputs
        heads = torch.split(logits, self._sizes, dim=1)
        parts = []
        for head, is_number, span, bound in zip(
            heads, self._is_number, self._ranges, self._bounds, strict=True
        ):
            if not is_number:
                parts.append(head.argmax(dim=1))
                continue
            mean = head[:, 0].tanh() if self._squashed else head[:, 0]
            parts.append((span[0] + span[1] * mean).clamp(*bound))
        return (torch.stack(parts, dim=1), logits, value, *state)


def export_torchscript(policy: NeuralPolicy) -> bytes:
    """Return a TorchScript file of `StandalonePolicy`, for `torch.jit.load`.

    Raises:
        ContractError: The net cannot be traced for batches of any size.
    """
    module, inputs = _make_example(policy, 2)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # constant shapes, which are checked below
        traced: Any = torch.jit.trace(module, inputs, check_trace=False)  # type: ignore[no-untyped-call]
        _, others = _make_example(policy, _TRIED_ROWS)
        try:
            is_same = all(map(torch.allclose, traced(*others), module(*others)))
        except RuntimeError:
            is_same = False
    if not is_same:
        raise ContractError(
            f"{type(policy.module).__name__} cannot be traced for batches of any size. Take sizes "
            f"from x.shape[0] instead of len(x), and do not branch on values."
        )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # still the format without Python code
        torch.jit.save(traced, buffer)
    return buffer.getvalue()


def export_onnx(policy: NeuralPolicy) -> bytes:
    """Return an ONNX file of `StandalonePolicy`, with the batch as a free axis.

    Raises:
        MissingLibraryError: The library onnx is not installed.
    """
    if find_spec("onnx") is None:
        raise make_missing_library_error("Exporting to ONNX", "onnx")
    module, inputs = _make_example(policy, 2)
    names = ["observation", "memory"][: len(inputs)]
    outputs = ["action", "logits", "value", "next_memory"][: 2 + len(inputs)]
    buffer: Any = io.BytesIO()
    axes = {name: {0: "batch"} for name in names + outputs}
    with warnings.catch_warnings():
        # The newer exporter needs onnxscript, and torch.export refuses some modules of users.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, inputs, buffer, input_names=names, output_names=outputs, dynamic_axes=axes,
            dynamo=False,
        )  # fmt: skip
    return bytes(buffer.getvalue())


def require_exportable(policy: Any, name: str) -> NeuralPolicy:
    """Return the policy if it can be exported.

    Raises:
        SettingsError: It is not a net, or has an observation transform, which is no torch code.
    """
    if not isinstance(policy, NeuralPolicy):
        raise SettingsError(
            f"{name} is played by {type(policy).__name__}, which is not a torch net."
        )
    if policy.input_spec is not policy.spec:
        raise SettingsError(
            f"{name} reads an observation transform, which cannot be exported. Use transform=identity."
        )
    return policy


def _make_example(policy: NeuralPolicy, rows: int) -> tuple[StandalonePolicy, tuple[Tensor, ...]]:
    """Return the standalone policy and inputs of `rows` rows for it."""
    module = StandalonePolicy(policy).eval()
    generator = torch.Generator().manual_seed(rows)
    sizes = [module.size] + [module.memory_size] * bool(module.memory_size)
    return module, tuple(torch.randn((rows, size), generator=generator) for size in sizes)


def _has_plain_observations(spec: WorldSpec, input_spec: WorldSpec) -> bool:
    """Return whether a net's inputs are the world's own numbers, side by side."""
    fields = spec.groups[0].fields
    is_plain = all(f.dtype == "float32" and len(f.shape) == 1 for f in fields)
    return is_plain and len(spec.groups) == 1 and spec is input_spec
