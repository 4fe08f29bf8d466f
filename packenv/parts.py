"""Functions that are only ever compiled into others: brought to LLVM's language, and left at that.

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


class PartLibrary(JITCodeLibrary):
    """A function's code, to be linked into that of its callers; what it calls itself is not in it."""

    def finalize(self) -> None:
        """Optimise the function by itself. With what it calls that is done once, where all is linked."""
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=False, analysis_only=False)
class BeginPart(LoweringPass):
    _name = "begin_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class OfferPart(LoweringPass):
    """Let compiled callers find the function, and link it and all that it calls."""

    _name = "offer_part"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        lowered, library = state["cr"], state.library
        described = lowered.fndesc
        entry = _dynfunc.make_function(described.lookup_module(), described.qualname, "", 0, lowered.env, (library,))
        state.targetctx.insert_user_function(entry, described, [library, *dict.fromkeys(library._linking_libraries)])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class PartCompiler(CompilerBase):
    """`pipeline_class` of such functions."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(BeginPart, IRLegalization)
        passes.add_pass_after(OfferPart, NativeLowering)
        passes.finalize()
        return [passes]
