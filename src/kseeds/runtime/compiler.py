"""The one door to the compiler.

No other module imports Numba; `kseeds.simd` writes instructions with what this one hands on.
Importing this one costs what importing Numba costs, so only
the kernels do, and the kernels are imported by the call that first needs them.

Kernels are kept on disk by `kseeds.runtime.kernel_cache`. Where no folder can be written (a
read-only install without a home), they are compiled afresh in every process.
Numba's own ``NUMBA_CACHE_DIR``, ``NUMBA_BOUNDSCHECK`` and ``NUMBA_DISABLE_JIT`` work as usual.

Ctrl-C is heard while Numba is imported and while kernels are compiled. Python raises
KeyboardInterrupt on the main thread only, where LLVM's callbacks would swallow it or turn it into
other errors. So the main thread has another thread compile and waits for it, and so do the
threads of `kseeds.runtime.threads`, which may be told to give up. A compilation that is given up
ends before its next pass: the caller returns at once, the other thread when the pass is over, which
is a second or two for the longest (LLVM at work on the largest kernels). Calls of compiled kernels
notice nothing of all this.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from kseeds.runtime import kernel_cache, registers
from kseeds.runtime.threads import GivenUp, elsewhere, on_main_thread, stop_flag


def _load() -> None:
    """Import Numba and make it ready."""
    # First as a whole, which waits for a thread that an interruption has left importing it: one
    # that imports a part meanwhile gets modules that are not complete.
    import numba  # noqa: F401
    from numba.core.registry import cpu_target

    for made_when_asked_for in ("typing_context", "target_context"):
        getattr(cpu_target, made_when_asked_for)


if on_main_thread():
    # An import of Numba that is interrupted half-way can never be made good in a process. One
    # that goes on while Python ends makes it forget why it ends, so it gets most of a second.
    elsewhere(_load, threading.Event(), patience=0.8)

import llvmlite.binding  # noqa: E402
import numba  # noqa: E402
from llvmlite import ir  # noqa: E402
from numba.core import cgutils, event, types  # noqa: E402
from numba.core.caching import FunctionCache  # noqa: E402
from numba.core.codegen import JITCodeLibrary  # noqa: E402
from numba.core.compiler import Compiler, CompileResult  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402
from numba.core.serialize import dumps  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

__all__ = [
    "JIT_DISABLED", "MULTIPLIES_BYTES", "WIDE_REGISTERS", "caller", "cgutils", "inlined",
    "intrinsic", "ir", "kernel", "types",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]

WIDE_REGISTERS = bool(llvmlite.binding.get_host_cpu_features().get("avx512f", False))
"""Whether the machine has 32 registers of 64 bytes; code for them runs elsewhere, but slowly."""

MULTIPLIES_BYTES = (
    registers.MULTIPLY_BYTES
    and bool(numba.config.ENABLE_AVX)  # type: ignore[attr-defined]
    and not numba.config.CPU_NAME  # type: ignore[attr-defined]
    and not numba.config.CPU_FEATURES  # type: ignore[attr-defined]
)
"""Whether code may use the instruction that multiplies bytes: it ends the process where Numba was
told to compile for another machine, in a file of settings perhaps."""


_OPTIONS = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
"""No GIL, and no counting of references: what a kernel is given outlives it, and it makes no array.
Counting costs threads that share arrays a factor of two, and a third of the time of compiling.
Nor an entry for C, which nobody calls."""


def kernel(function: F) -> F:
    """Compile ``function`` on its first call: strict arithmetic, cached on disk.

    It may be given arrays, numbers and named tuples of these, and may view rows of such arrays, but
    must not make arrays: workspaces are the caller's.
    """
    compiled = _compiled(function, _OPTIONS)
    if not JIT_DISABLED and _is_ours(function):
        compiled._cache = _KernelCache(function)
    return cast(F, compiled)


def inlined(function: F) -> F:
    """Compile a small function into its callers, which are kept on disk; it needs not be.

    A call with arrays would cost some 20 ns.
    """
    return cast(F, function if JIT_DISABLED else _Inlined(function))


def caller(function: F) -> F:
    """Compile a function that calls functions of the user's, which may do anything.

    It is not kept: no other process has the same functions.
    """
    return cast(F, _compiled(function, {"nogil": True}))


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    return _stoppable(numba.njit(**options)(function))


class _Inlined(CPUDispatcher):
    """A function that is made machine code in its callers only.

    Numba would make it of every function by itself, too, and again of all that it calls: half of
    what LLVM did for the largest kernels.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        options: dict[str, Any] = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
        options |= {"nopython": True, "boundscheck": None}
        super().__init__(function, targetoptions=options, pipeline_class=_InlinedCompiler)
        self._by_itself: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the function by itself, compiled like a kernel: for tests."""
        if self._by_itself is None:
            self._by_itself = _compiled(self.py_func, _OPTIONS)
        return self._by_itself(*arguments)


class _InlinedCompiler(Compiler):
    """Compiles functions to `_InlinedCode`."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile a function."""
        self.state.library = _InlinedCode(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _InlinedCode(JITCodeLibrary):
    """Code that is never made machine code; its callers link it, and are optimised as a whole."""

    def _optimize_final_module(self) -> None:
        """Only put loops into the form in which they are vectorised in the callers.

        That is what Numba begins with. Optimising every function by itself, too, took a sixth of
        the time of compiling the largest kernels, and made none of them faster; leaving out the
        form of loops made them slower by a tenth.
        """
        codegen = self._codegen
        found = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect,
            slp_vectorize=False,
            opt=codegen._opt_level,
            cost="cheap",
        )
        # Newer versions of Numba return what made the passes, too.
        passes, *maker = found if isinstance(found, tuple) else (found,)
        passes.run(self._final_module, *maker)

    def _finalize_final_module(self) -> None:
        """Only tell whether there are addresses of this process in the code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return nothing to call."""
        return 0

    @property
    def codegen(self) -> Any:
        """Who is told where machine code finds its constants: nobody needs to know."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


def _is_ours(function: Callable[..., Any]) -> bool:
    """Tell whether a function is of the sources that the folder of kernels is named after."""
    return function.__code__.co_filename.startswith(os.path.join(kernel_cache.PACKAGE, ""))


class _KernelCache(FunctionCache):
    """Keeps each compiled version of a kernel in a file of its own.

    Numba keeps an index per function, and numbers the files that it leads to. Two processes that
    compile two versions at once take the same number, and one later runs the other's code.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._py_func = function
        self._name = f"{function.__module__}.{function.__qualname__}-{code.co_firstlineno}"
        self._cache_path = str(kernel_cache.folder())
        self.enable()

    def flush(self) -> None:
        """Do nothing: files of this version of the sources are never out of date."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept version for a signature, or None if there is none that is whole.

        Does not refresh ``target_context``, as Numba's own caches do: that imports what types and
        lowers a function (a third of a second, SciPy included), and compiling does so by itself.
        """
        data = kernel_cache.load(*self._place(sig, target_context.codegen()))
        if not self._enabled or data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # whatever it is, compiling helps
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled version."""
        # Code with addresses of this process in it would be wrong in any other.
        if self._enabled and not data.lifted and not data.library.has_dynamic_globals:
            kernel_cache.save(*self._place(sig, data.codegen), dumps(data._reduce()))

    def _place(self, sig: Any, codegen: Any) -> tuple[str, str]:
        """Return the file of a signature, and all that the code in it depends on."""
        key = repr(
            (self._name, self._index_key(sig, codegen), numba.__version__, llvmlite.__version__)
        )
        short = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
        readable = self._name.replace("<", "").replace(">", "")
        return f"{readable}-{short}.nbc", key


def _stoppable(dispatcher: Any) -> Any:
    """Let what a call has to compile be compiled where an interrupt does no harm."""
    if JIT_DISABLED:
        return dispatcher
    compile_here = dispatcher._compile_for_args

    def compile_for_args(*arguments: Any) -> Any:
        stop = threading.Event() if on_main_thread() else stop_flag()
        # Whoever holds the lock is compiling already: another thread could never take it.
        if stop is None or global_compiler_lock.is_locked():
            return compile_here(*arguments)
        return elsewhere(lambda: compile_here(*arguments), stop)

    # Numba looks this up when it has no compiled version for the types of the arguments.
    dispatcher._compile_for_args = compile_for_args
    return dispatcher


class _Stopper(event.Listener):
    """Ends a compilation between two passes, where Numba has nothing half done to keep."""

    def on_start(self, event: event.Event) -> None:
        """Stop if this thread has to."""
        stop = stop_flag()
        if stop is not None and stop.is_set():
            raise GivenUp

    def on_end(self, event: event.Event) -> None:
        """Do nothing: the next start is soon enough."""


class _ForkLock:
    """Lets a fork wait for compilations.

    Otherwise the child could never take the lock: the thread that holds it is not there.
    """

    def __init__(self) -> None:
        self._held = False

    def take(self) -> None:
        """Wait until nobody compiles."""
        global_compiler_lock._lock.acquire()
        self._held = True

    def leave(self) -> None:
        """Let others compile again."""
        if self._held:
            self._held = False
            global_compiler_lock._lock.release()


event.register("numba:run_pass", _Stopper())
if hasattr(os, "register_at_fork"):
    _fork_lock = _ForkLock()
    os.register_at_fork(
        before=_fork_lock.take,
        after_in_parent=_fork_lock.leave,
        after_in_child=_fork_lock.leave,
    )
