"""Compilation by Numba made visible: it takes seconds at the first call, and nothing later.

After two seconds of it one line says what takes so long and where the result is kept. Where no cache can be
written a RuntimeWarning says that every process compiles again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba.core import event

from linforest_precond.backends.compilation_notice import CompilationNotice
from linforest_precond.backends.cpu.runtime.jit import SOURCES, cache_folder

NO_CACHE = (
    "no folder for compiled kernels can be written: every process compiles them again, which "
    "takes seconds to minutes; set NUMBA_CACHE_DIR to a folder that can be written"
)


class CompilationWatch(event.Listener):
    """Counts the functions that Numba compiles and does not load; Numba calls it inside its own lock."""

    def __init__(self) -> None:
        self.notice, self.functions = CompilationNotice(), 0

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled; helpers do inside of others."""
        if _is_own(event):
            self.functions += 1
            self.notice.start(shown_folder if cache_folder() is not None else None)

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or could not be."""
        if _is_own(event):
            self.notice.stop()
            if cache_folder() is None:
                self.notice.warn_once(NO_CACHE, through=("numba", "contextlib"))


def shown_folder() -> str:
    """Where compiled kernels are kept, for messages; several folders where they lie beside the sources."""
    folder = Path(cache_folder() or "")
    return str(SOURCES / "*" / folder.name) if SOURCES in folder.parents else str(folder.parent)


def _is_own(event: Any) -> bool:
    """Whether a function of this package is compiled, not one of the user's own."""
    code = getattr(getattr((event.data or {}).get("dispatcher"), "py_func", None), "__code__", None)
    return code is not None and code.co_filename.startswith(str(SOURCES))


WATCH = CompilationWatch()


def watch_compilation() -> None:
    """Let Numba report to `WATCH`."""
    event.register("numba:compile", WATCH)  # type: ignore[no-untyped-call]
