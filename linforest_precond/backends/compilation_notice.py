"""The line that tells a user that kernels are being compiled, which takes seconds at the first call.

It is logged by the logger ``linforest_precond`` as a warning, so that Python prints it on the standard error
output.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from linforest_precond.backends.user_warnings import warn_user

LOGGER = logging.getLogger("linforest_precond")
# Seconds of compilation before anything is said.
PATIENCE = 2.0


class CompilationNotice:
    """Counts seconds of compilation, nested or in threads, and tells the user once where results are kept."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._running = threading.Lock(), 0
        self._began, self._told = 0.0, False
        self._timer: threading.Timer | None = None

    def start(self, folder: Callable[[], str] | None) -> None:
        """A compilation begins, whose result is kept in a folder, or nowhere: then nothing is said."""
        with self._lock:
            self._running += 1
            if self._running > 1:
                return
            self._began = time.perf_counter()
            if not self._told and folder is not None:
                self._timer = threading.Timer(max(0.0, PATIENCE - self.seconds), self._tell, (folder,))
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """It has ended; without effect where its begin was not seen."""
        with self._lock:
            if not self._running:
                return
            self._running -= 1
            if self._running:
                return
            self.seconds += time.perf_counter() - self._began
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def warn_once(self, text: str, through: tuple[str, ...]) -> None:
        """A warning in place of the line."""
        if not self._told:
            self._told = True
            warn_user(text, through=through)

    def _tell(self, folder: Callable[[], str]) -> None:
        self._told = True
        LOGGER.warning(
            "linforest_precond: kernels are being compiled, once: they are kept in %s "
            "(`linforest warmup` compiles them ahead)",
            folder(),
        )
