"""Compilation by Numba made visible: it takes seconds at the first call, and nothing later.

After two seconds of it one line says what takes so long and where the result is kept; it is logged by the
logger ``linforest_precond`` as a warning, so that Python prints it on the standard error output. Where no
cache can be written a RuntimeWarning says that every process compiles again.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

from numba.core import event

from linforest_precond.backends.cpu.runtime.jit import SOURCES, cache_folder
from linforest_precond.user_warnings import warn_user

LOGGER = logging.getLogger("linforest_precond")
# Seconds of compilation before anything is said.
PATIENCE = 2.0
NO_CACHE = (
    "no folder for compiled kernels can be written: every process compiles them again, which "
    "takes seconds to minutes; set NUMBA_CACHE_DIR to a folder that can be written"
)


class CompilationWatch(event.Listener):
    """Counts the time that Numba compiles, and tells the user once. Numba calls it inside its own lock.

    Attributes
    ----------
    seconds : float
        Of compilation in this process so far.
    functions : int
        That were compiled, not loaded from the cache.
    """

    def __init__(self) -> None:
        self.seconds, self.functions = 0.0, 0
        self._depth, self._began = 0, 0.0
        self._told = False
        self._timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled; helpers do inside of others."""
        if _is_own(event):
            self._depth += 1
            self.functions += 1
            if self._depth == 1:
                self._start()

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or could not be."""
        if _is_own(event) and self._depth:
            self._depth -= 1
            if self._depth == 0:
                self._stop()

    def _start(self) -> None:
        self._began = time.perf_counter()
        if not self._told and cache_folder() is not None:
            self._timer = threading.Timer(max(0.0, PATIENCE - self.seconds), self._tell)
            self._timer.daemon = True
            self._timer.start()

    def _stop(self) -> None:
        self.seconds += time.perf_counter() - self._began
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._told and cache_folder() is None:
            self._told = True
            warn_user(NO_CACHE, through=("numba", "contextlib"))

    def _tell(self) -> None:
        self._told = True
        LOGGER.warning(
            "linforest_precond: kernels are being compiled, once: they are kept in %s "
            "(`linforest warmup` compiles them ahead)",
            shown_folder(),
        )


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
