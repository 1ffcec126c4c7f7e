"""The progress of a join: a bar on a terminal where tqdm is installed, else a line for every tenth."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


class Progress:
    """Counts sets that are done, on the standard error output."""

    def __init__(self, total: int, wanted: bool, bar: Any = None):
        self.total, self.wanted, self.bar, self.done = total, wanted, bar, 0

    def advance(self, sets: int) -> None:
        """So many more sets are done."""
        tenths = 10 * self.done // max(self.total, 1)
        self.done += sets
        if self.bar is not None:
            self.bar.update(sets)
        elif self.wanted and 10 * self.done // max(self.total, 1) > tenths:
            print(f"join: {self.done:,} of {self.total:,} sets", file=sys.stderr, flush=True)


@contextlib.contextmanager
def showing(total: int, wanted: bool) -> Iterator[Progress]:
    """The progress over `total` sets; shows nothing unless `wanted`."""
    bar = _bar(total) if wanted and sys.stderr.isatty() else None
    try:
        yield Progress(total, wanted, bar)
    finally:
        if bar is not None:
            bar.close()


def _bar(total: int) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="set", desc="join", leave=False, file=sys.stderr)
