"""Compiler pipelines that make machine code of kernels only, not of the functions they call.

Numba optimises every function that a kernel calls and makes machine code of it, then links it into
its caller and does the same again there: a function four calls deep is compiled five times. Here a
called function stays intermediate code until the kernel at the top is optimised as a whole, which
halves the time that kernels take to compile.
"""

from __future__ import annotations

import gc
import importlib
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeLowering

_ENVIRONMENT_PREFIX = "_ZN08NumbaEnv"
_dynfunc: Any = importlib.import_module("numba._dynfunc")  # numba is untyped
_Library: Any = JITCodeLibrary
_Lowering: Any = NativeLowering
_Compiler: Any = Compiler
_Flags: Any = TargetConfig
_PassBuilder: Any = DefaultPassBuilder
_register: Any = register_pass
_environment_of: Any = lookup_environment
_equal_in_full = _Flags.__eq__


class _CalleeLibrary(_Library):  # type: ignore[misc]
    """Intermediate code of a function that is linked into kernels and never runs by itself."""

    def _optimize_final_module(self) -> None:
        """Leave the work to the kernel, which optimises all that is linked into it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@_register(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(_Lowering):  # type: ignore[misc]
    _name = "kinfolk_callee_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _CalleeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        function, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        # Dispatchers want an entry point: this one has no code, as numba's own has for callees.
        entry = _dynfunc.make_function(
            function.lookup_module(), name, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, function, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@_register(mutates_CFG=True, analysis_only=False)
class _KernelLowering(_Lowering):  # type: ignore[misc]
    _name = "kinfolk_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        codegen = state.targetctx.codegen()
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT_PREFIX):  # callees' too, loaded only now
                environment = _environment_of(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)
        return True


class CalleeCompiler(_Compiler):  # type: ignore[misc]
    """Numba's compiler for nopython mode, ending in intermediate code."""

    _lowering: Any = _CalleeLowering

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with another lowering."""
        manager = _PassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self._lowering if kind is _Lowering else kind, text) for kind, text in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
        return [manager]


class KernelCompiler(CalleeCompiler):
    """Numba's compiler for nopython mode, for kernels that call what `CalleeCompiler` made."""

    _lowering = _KernelLowering

    def compile_extra(self, func: Any) -> Any:
        """Compile without garbage collection, which finds nothing and takes a tenth of the time."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


def _same_flags(self: Any, other: object) -> Any:
    if isinstance(other, _Flags) and self._values == other._values:
        return True
    return _equal_in_full(self, other)


# Numba looks up thousands of overloads by flags, and hashes the names of all of them each time: the
# same number always. That and comparing all values took a tenth of the time.
_Flags.__hash__ = lambda _: 1
_Flags.__eq__ = _same_flags
