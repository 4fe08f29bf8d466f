"""Two compilers: of outermost functions, which Python calls, and of inner ones, which stay in LLVM's language.

Numba makes machine code of every function, with all that it calls inside, before that of its caller, which has it inside
again. Where functions call each other ten deep and Python calls the outermost only, most of that is thrown away.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, PassManager, register_pass
from numba.core.typed_passes import IRLegalization, NativeLowering


class OuterCompiler(CompilerBase):
    """Numba's passes, with the code in an OuterLibrary; a `pipeline_class`."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(BeginOuter, IRLegalization)
        passes.finalize()
        return [passes]


class InnerCompiler(CompilerBase):
    """The same, made to stop short of machine code."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(BeginInner, IRLegalization)
        passes.add_pass_after(OfferInner, NativeLowering)
        passes.finalize()
        return [passes]


class OuterLibrary(JITCodeLibrary):
    """The code of a function and of all that it calls."""

    def _optimize_final_module(self) -> None:
        """Once to put the functions into each other, and again with all at hand: batches then run 1.1 times as fast."""
        super()._optimize_final_module()
        super()._optimize_final_module()


class InnerLibrary(JITCodeLibrary):
    """A function's code, to be linked into that of its callers; what it calls itself is not in it."""

    def finalize(self) -> None:
        """Nothing is optimised: that is done where all is linked."""
        self._finalize_dynamic_globals()
        self._finalized = True


class Pass(LoweringPass):
    def __init__(self) -> None:  # Numba's own takes arguments, which nobody gives
        LoweringPass.__init__(self)


@register_pass(mutates_CFG=False, analysis_only=False)
class BeginOuter(Pass):
    _name = "begin_outer"

    def run_pass(self, state: Any) -> bool:
        state.library = OuterLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class BeginInner(Pass):
    """Code goes into an InnerLibrary, of which lowering makes no executable."""

    _name = "begin_inner"

    def run_pass(self, state: Any) -> bool:
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class OfferInner(Pass):
    """Callers find the function, and link it and all that it calls."""

    _name = "offer_inner"

    def run_pass(self, state: Any) -> bool:
        lowered, library = state["cr"], state.library
        described = lowered.fndesc
        entry = _dynfunc.make_function(described.lookup_module(), described.qualname, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(entry, described, [library, *dict.fromkeys(library._linking_libraries)])
        state["cr"] = lowered._replace(cfunc=entry)
        return True
