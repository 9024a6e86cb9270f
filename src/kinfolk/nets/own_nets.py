"""Populations of a user's networks: torch modules with stacked parameters, or functions of numpy.

>>> def linear(parameters, x):
...     return x @ parameters.reshape(3, 2)
>>> nets = FunctionNets(linear, 6, num_nets=4, inputs=3, outputs=2, key=1)
>>> nets(np.ones((4, 5, 3)))[0].shape
(4, 5, 2)
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from kinfolk.core.arrays import AnyArray, is_tensor
from kinfolk.core.errors import ContractError, require, summarize_error
from kinfolk.core.imports import optional_import
from kinfolk.core.random import fold_in
from kinfolk.nets.forward import check_net_sizes
from kinfolk.nets.memory import map_arrays, split_members, stack_memories
from kinfolk.nets.numerics import draw_seed
from kinfolk.nets.parameters import ParameterNets

_START = 1  # branch of random keys


class _OwnNets(ParameterNets):
    """Base of nets whose forward pass is a user's code: errors name it, outputs are checked."""

    def __call__(self, x: Any, mem: Any = None) -> tuple[Any, Any]:
        """Return outputs `[nets, batch, outputs]` for inputs `[nets, batch, inputs]`, and new memory.

        Tensors return tensors, and arrays return arrays.

        Raises:
            SettingsError: `x` is not `[nets, batch, inputs]`, or the memory does not fit it.
            ContractError: The user's code failed, or returned outputs of another shape.
        """
        self.check_inputs(x)
        self.gives_tensors = is_tensor(x)
        before = self.check_memory(mem, x.shape[1])
        try:
            result = self._run(x, before)
        except Exception as error:
            description, location, _ = summarize_error(error)
            raise ContractError(f"{self._name} failed: {description} ({location}).") from error
        out, after = result if isinstance(result, tuple) else (result, None)
        expected = (*x.shape[:2], self.outputs)
        if tuple(np.shape(out)) != expected:
            raise ContractError(
                f"{self._name} must return outputs of shape {list(expected)} for all members, "
                f"not {list(np.shape(out))}."
            )
        return out, after

    @property
    def _name(self) -> str:
        """Name of the user's module or function, for messages."""
        raise NotImplementedError

    def _run(self, x: Any, memory: Any) -> Any:
        """Return outputs of all members, or a pair of outputs and new memory."""
        raise NotImplementedError

    def __repr__(self) -> str:
        sizes = f"num_nets={self.num_nets}, inputs={self.inputs}, outputs={self.outputs}"
        shown = f"{self._name}, {sizes}, parameters={self.flat.shape[1]}, sigma={self.sigma:g}"
        return f"{type(self).__name__}({shown})"


class FunctionNets(_OwnNets):
    """Nets that a function of numpy computes from parameters and inputs.

    Args:
        function: Maps the parameters `[parameters]` of one member and its inputs `[batch, inputs]`
            to outputs `[batch, outputs]`, or to outputs and memory. Memory that it returned is its
            third argument in the next step; in the first step it is called with two.
        parameters: Number of parameters of a member.
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        key: Random key of the initial parameters; None draws one from the operating system.
        sigma: Standard deviation of mutations.
        initial_std: Standard deviation of the initial parameters, which are normal around zero.
        vectorized: Whether the function takes all members at once, `[nets, parameters]` and
            `[nets, batch, inputs]`, as one from `jax.vmap` does.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        parameters: int,
        num_nets: int,
        inputs: int,
        outputs: int,
        *,
        key: int | None = None,
        sigma: float = 0.01,
        initial_std: float = 1.0,
        vectorized: bool = False,
    ) -> None:
        check_net_sizes(num_nets, inputs, outputs)
        require(callable(function), f"A function was expected, not {function!r}.")
        require(parameters >= 1, f"Nets need parameters of at least 1, not {parameters}.")
        seed = draw_seed() if key is None else key
        flat = np.zeros((num_nets, parameters), dtype=np.float32)
        super().__init__(flat, inputs, outputs, key=seed, sigma=sigma)
        self.seed, self._function, self._vectorized = seed, function, vectorized
        self.flat = self.draw_normal(int(fold_in(seed, _START))) * np.float32(initial_std)

    @property
    def _name(self) -> str:
        """Name of the function, for messages."""
        return str(getattr(self._function, "__name__", repr(self._function)))

    def _run(self, x: Any, memory: Any) -> Any:
        """Call the function once, or for one member after another."""
        inputs = np.asarray(x)
        if self._vectorized:
            result = self._call(self.flat, inputs, memory)
        else:
            states = split_members(memory, self.num_nets)
            rows = zip(self.flat, inputs, states, strict=True)
            result = stack_memories([self._call(*row) for row in rows])
        if not is_tensor(x):
            return result
        out, after = result if isinstance(result, tuple) else (result, None)
        return x.new_tensor(out), after

    def _call(self, parameters: AnyArray, x: AnyArray, memory: Any) -> Any:
        """Call the function, with memory if there is some; return arrays."""
        arguments = (parameters, x) if memory is None else (parameters, x, memory)
        result = self._function(*arguments)
        if isinstance(result, tuple):
            return np.asarray(result[0]), result[1]
        return np.asarray(result)


class ModuleNets(_OwnNets):
    """Nets that are torch modules of one class, run together by `torch.func.vmap`.

    Args:
        make_module: Makes a module: a class or function without arguments, called once per member
            so that each has the initial weights that its module draws; or one module, whose weights
            all members begin with. The module maps inputs `[batch, inputs]` to outputs, or inputs and
            memory to outputs and memory; in the first step it is called with inputs only.
        num_nets: Number of members.
        inputs: Number of inputs.
        outputs: Number of outputs.
        key: Random key of the initial weights; None draws one from the operating system.
        sigma: Standard deviation of mutations.

    Raises:
        SettingsError: The module has no parameters, or a layer that members cannot have.
    """

    def __init__(
        self,
        make_module: Any,
        num_nets: int,
        inputs: int,
        outputs: int,
        *,
        key: int | None = None,
        sigma: float = 0.01,
    ) -> None:
        with optional_import("A population of torch modules"):
            import torch

        check_net_sizes(num_nets, inputs, outputs)
        seed = draw_seed() if key is None else key
        if isinstance(make_module, torch.nn.Module):
            modules = [make_module] * num_nets
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                modules = [make_module() for _ in range(num_nets)]
            made = modules[0]
            message = f"make_module must make a torch.nn.Module, not {made!r}."
            require(isinstance(made, torch.nn.Module), message)
        rows = [
            torch.nn.utils.parameters_to_vector(m.parameters()).detach().numpy() for m in modules
        ]
        require(rows[0].size > 0, f"{modules[0]} has no parameters to evolve.")
        _check_layers(modules[0])
        super().__init__(np.array(rows), inputs, outputs, key=seed, sigma=sigma)
        self.seed = seed
        self._module = copy.deepcopy(modules[0]).requires_grad_(False)
        self._views: Any = None  # cache: the array they belong to, and parameters by name

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the views: those of a copy would not be of the copy's parameters."""
        return vars(self) | {"_views": None}

    @property
    def _name(self) -> str:
        """Class of the module, for messages."""
        return type(self._module).__name__

    def get_params(self) -> Any:
        """Return a copy of all parameters as a tensor, `[nets, parameters]`."""
        import torch

        return torch.from_numpy(self.flat.copy())

    def module(self, member: int = 0) -> Any:
        """Return a copy of the module with the parameters of a member."""
        import torch

        module = copy.deepcopy(self._module)
        vector = torch.from_numpy(self.flat[member].copy())
        torch.nn.utils.vector_to_parameters(vector, module.parameters())
        return module

    def _run(self, x: Any, memory: Any) -> Any:
        """Call the modules of all members at once, without gradients."""
        import torch

        if self._views is None or self._views[0] is not self.flat:
            self._views = (self.flat, self._view_parameters())

        def call(parameters: Any, inputs: Any, state: Any = None) -> Any:
            """Call the module of one member."""
            arguments = (inputs,) if state is None else (inputs, state)
            return torch.func.functional_call(self._module, parameters, arguments)

        value = x.detach().float() if is_tensor(x) else torch.tensor(np.asarray(x)).float()
        batch = [self._views[1], value]
        if memory is not None:
            batch.append(map_arrays(torch.as_tensor, memory))
        with torch.no_grad():
            result = torch.func.vmap(call, randomness="error")(*batch)
        if is_tensor(x):
            return result
        if isinstance(result, tuple):
            return result[0].numpy(), map_arrays(lambda part: part.numpy(), result[1])
        return result.numpy()

    def _view_parameters(self) -> dict[str, Any]:
        """Return the parameters by name, `[nets, ...]`, as views of the matrix."""
        import torch

        flat, views, start = torch.from_numpy(self.flat), {}, 0
        for name, parameter in self._module.named_parameters():
            size = parameter.numel()
            views[name] = flat[:, start : start + size].view(self.num_nets, *parameter.shape)
            start += size
        return views


def _check_layers(module: Any) -> None:
    """Refuse layers whose outputs are not determined by parameters, inputs and memory of a row.

    Raises:
        SettingsError: There is such a layer, or one that `torch.func.vmap` cannot run.
    """
    from torch import nn

    for path, layer in module.named_modules():
        name = f"{type(layer).__name__} ({path})" if path else type(layer).__name__
        problem = None
        if isinstance(layer, nn.modules.batchnorm._NormBase):
            problem = "its statistics are of the batch, not of a member: use LayerNorm"
        elif isinstance(layer, nn.modules.dropout._DropoutNd) and layer.training and layer.p > 0:
            problem = "it drops at random in every call: leave it out, or set p to 0"
        elif isinstance(layer, nn.RNNBase | nn.LSTMCell):
            problem = "torch.func.vmap cannot run it: use RNNCell or GRUCell, with memory"
        require(problem is None, f"ModuleNets cannot have the layer {name}: {problem}.")
