"""Compiler pipelines that make machine code of kernels only, not of the functions they call.

Numba optimises every function that a kernel calls and makes machine code of it, then links it into
its caller and does the same again there: a function four calls deep is compiled five times. Here a
called function stays intermediate code until the kernel at the top is optimised as a whole, which
halves the time that kernels take to compile.
"""

from __future__ import annotations

import gc
from typing import Any

import numba

_ENVIRONMENT_PREFIX = "_ZN08NumbaEnv"
_numba: Any = numba  # untyped
_core = _numba.core
_register_pass = _core.compiler_machinery.register_pass
_Library: Any = _core.codegen.JITCodeLibrary
_Lowering: Any = _core.typed_passes.NativeLowering
_Compiler: Any = _core.compiler.Compiler
_Flags = _core.targetconfig.TargetConfig
_equal_in_full = _Flags.__eq__


class _CalleeLibrary(_Library):  # type: ignore[misc]
    """Intermediate code of a function that is linked into kernels and never runs by itself."""

    def _optimize_final_module(self) -> None:
        """Leave the work to the kernel, which optimises all that is linked into it."""

    def _finalize_final_module(self) -> None:
        """Mark the library as complete without making machine code of it."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@_register_pass(mutates_CFG=True, analysis_only=False)
class _CalleeLowering(_Lowering):  # type: ignore[misc]
    """Compiler pass that lowers a callee to intermediate code and stops there."""

    _name = "kinfolk_callee_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the callee of a compiler state; return True because the state was changed."""
        state.library = _CalleeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        function, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        # Dispatchers want an entry point: this one has no code, as numba's own has for callees.
        module, library = function.lookup_module(), (state.library,)
        entry = _numba._dynfunc.make_function(module, name, "", 0, lowered.env, library)
        state.targetctx.insert_user_function(entry, function, [state.library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


@_register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(_Lowering):  # type: ignore[misc]
    """Compiler pass that lowers a kernel and connects the environments of its callees."""

    _name = "kinfolk_kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the kernel of a compiler state; return True because the state was changed."""
        super().run_pass(state)
        codegen = state.targetctx.codegen()
        for variable in state.library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT_PREFIX):  # callees' too, loaded only now
                environment = _core.environment.lookup_environment(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)
        return True


class CalleeCompiler(_Compiler):  # type: ignore[misc]
    """Numba's compiler for nopython mode, whose result is LLVM's intermediate code."""

    _lowering: Any = _CalleeLowering

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with `_lowering` in place of its own lowering pass."""
        manager = _core.compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (self._lowering if kind is _Lowering else kind, text) for kind, text in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
        return [manager]


class KernelCompiler(CalleeCompiler):
    """Numba's compiler for nopython mode, for kernels that call results of `CalleeCompiler`."""

    _lowering = _KernelLowering

    def compile_extra(self, func: Any) -> Any:
        """Compile a function with Python's garbage collector paused.

        The collector would find nothing to free and take a tenth of the compile time.
        """
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


def _same_flags(self: Any, other: object) -> Any:
    """Compare compiler flags by value first, which is faster than numba's full comparison."""
    if isinstance(other, _Flags) and self._values == other._values:
        return True
    return _equal_in_full(self, other)


# Numba looks up thousands of overloads by flags, and hashes the names of all of them each time: the
# same number always. That and comparing all values took a tenth of the time.
_Flags.__hash__ = lambda _: 1
_Flags.__eq__ = _same_flags
