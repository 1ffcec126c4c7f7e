"""Diagnosis of deadlocks: the collective calls of all ranks are compared, wrong and missing ones named."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parents[2])
# Frames of these files are left out: they are in the stack of every call.
MACHINERY = {
    str(Path(__file__).with_name(f"{name}.py"))
    for name in ("communicator", "device_messages", "mpi", "simulated")
}
NO_CALL = "no call yet"


class RankError(RuntimeError):
    """Another rank has failed, or makes another collective call; its own error is the cause to look at."""


def described_call(operation: str) -> str:
    """A collective call with its place in this package, and the place in the program that led there."""
    innermost: FrameType | None = None
    program: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_place(frame.f_code.co_filename):
            innermost, program = innermost or frame, frame.f_back
        frame = frame.f_back
    if innermost is None:
        return operation
    called = "" if program is None else f", called by {_place_of(program)}"
    return f"{operation} in {_place_of(innermost)}{called}"


@functools.cache
def _is_place(file: str) -> bool:
    return file.startswith(PACKAGE) and file not in MACHINERY


def _place_of(frame: FrameType) -> str:
    return f"{frame.f_code.co_name} ({os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno})"


def mismatch(calls: Sequence[str]) -> str:
    """The message for ranks whose calls, as `described_call` gives them, differ; empty if they agree."""
    operations = [call.split(" in ")[0] for call in calls]
    differs = [r for r, operation in enumerate(operations) if operation != operations[0]]
    if not differs:
        return ""
    pairs = "; ".join(f"rank {r} makes {calls[r]}" for r in (0, differs[0]))
    return f"ranks make different collective calls: {pairs}"


def absence(rank: int, call: str, latest: dict[int, str]) -> str:
    """The message of a rank whose call has timed out, with the latest calls of the absent ranks."""
    others = [f"rank {r} does not, after {each}" for r, each in sorted(latest.items())]
    return "; ".join([f"rank {rank} makes {call}", *others])
