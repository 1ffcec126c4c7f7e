"""Exit codes."""

from __future__ import annotations

from enum import IntEnum

from linforest_precond.app import interrupts


class Exit(IntEnum):
    """Exit codes of ``linforest``."""

    DONE = 0
    NOT_CONVERGED = 1
    ERROR = 2
    NOT_AVAILABLE = 3
    INTERRUPTED = interrupts.INTERRUPTED
    BROKEN_PIPE = 141
    TERMINATED = 143  # 128 + SIGTERM


EXIT_CODES = """\
exit codes:
  0    done; a solve converged, all cases of a study were run
  1    a solve did not converge, or cases of a study failed
  2    wrong usage, bad input, or another error: one line on stderr says which
  3    a given matrix is not available: unknown, or offline and not in the cache
  130  stopped by Ctrl-C
  143  a study was ended by SIGTERM; its report shows the finished cases
"""
