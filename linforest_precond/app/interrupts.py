"""Exit codes of ``linforest``, and its SIGINT handler during imports.

A KeyboardInterrupt inside an import would show a traceback, as no code of the command is running yet. The
package therefore imports this module first.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from enum import IntEnum
from typing import Any, NoReturn

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
STDERR = 2


class Exit(IntEnum):
    """Exit codes of ``linforest``."""

    DONE = 0
    NOT_CONVERGED = 1
    ERROR = 2
    NOT_AVAILABLE = 3
    INTERRUPTED = INTERRUPTED
    BROKEN_PIPE = 141
    TERMINATED = 143  # 128 + SIGTERM


EXIT_CODES = """\
exit codes:
  0    done; a solve converged, all cases of a study were run
  1    a solve did not converge, or cases of a study failed
  2    wrong usage, bad input, or another error: one line on stderr says which
  3    a given matrix or file is not available: unknown, missing, or offline and not in the cache
  130  stopped by Ctrl-C
  143  a study was ended by SIGTERM; its report shows the finished cases
"""


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
    """Restore Python's handler: Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is end_quietly:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this is ``linforest`` or ``python -m linforest_precond``, whose argv[0] is -m at first."""
    script = os.path.basename(sys.argv[0] if sys.argv else "")
    as_module = script == "-m" and {"linforest_precond", "-mlinforest_precond"} & set(sys.orig_argv)
    return bool(as_module) or script in ("linforest", "linforest.exe", "linforest-script.py")


guard_imports()
