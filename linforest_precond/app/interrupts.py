"""Ctrl-C while the command ``linforest`` imports its libraries, which takes seconds on a cold disk.

A KeyboardInterrupt inside an import would show a traceback, as no code of the command is running yet. The
package therefore imports this module first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
STDERR = 2


def end_quietly(*_: Any) -> NoReturn:
    """Handle SIGINT with one line instead of a traceback; there is nothing to clean up yet."""
    with contextlib.suppress(OSError):
        os.write(STDERR, b"linforest: interrupted\n")
    os._exit(INTERRUPTED)


def guard_imports() -> None:
    """Take over SIGINT if this process is the command and has Python's own handler."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread may set a handler
            signal.signal(signal.SIGINT, end_quietly)


def end_of_imports() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is end_quietly:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this is ``linforest`` or ``python -m linforest_precond``, whose argv[0] is -m at first."""
    script = os.path.basename(sys.argv[0] if sys.argv else "")
    as_module = script == "-m" and {"linforest_precond", "-mlinforest_precond"} & set(sys.orig_argv)
    return bool(as_module) or script in ("linforest", "linforest.exe", "linforest-script.py")


guard_imports()
