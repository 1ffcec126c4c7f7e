"""SIGTERM ends a study as Ctrl-C does: the report is written from the finished cases."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Terminated(KeyboardInterrupt):
    """SIGTERM has arrived."""


class Termination:
    """Raises `Terminated` when SIGTERM arrives; inside `deferred` it is only noted."""

    def __init__(self) -> None:
        self.received, self.waits = False, False

    def handle(self, *_: Any) -> None:
        self.received = True
        if not self.waits:
            raise Terminated

    def check(self) -> None:
        """Raise where the signal has arrived: callbacks of a compiler swallow exceptions."""
        if self.received:
            raise Terminated

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Do not end inside: files are being written."""
        self.waits = True
        try:
            yield
        finally:
            self.waits = False


@contextlib.contextmanager
def termination() -> Iterator[Termination]:
    """Handle SIGTERM inside the context; only the main thread can."""
    found = Termination()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    before = signal.signal(signal.SIGTERM, found.handle)
    try:
        yield found
    finally:
        signal.signal(signal.SIGTERM, before if before is not None else signal.SIG_DFL)
