"""Progress of a study: a bar on a terminal where tqdm is installed, else a line for every case."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from linforest_precond.printing import one_line


class Progress:
    """Reports cases and their parts on the standard error output."""

    def __init__(self, bar: Any = None, lines: bool = True):
        self.bar, self.lines = bar, lines

    def working_on(self, text: str) -> None:
        """Show the current step, on a bar only."""
        if self.bar is not None:
            self.bar.set_postfix_str(one_line(text))

    def finished(self, text: str) -> None:
        """Report the end of a case."""
        text = one_line(text)
        if self.bar is not None:
            self.bar.update()
            self.bar.write(text, file=sys.stderr)
        elif self.lines:
            print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def showing(total: int, wanted: bool, title: str = "study", unit: str = "case") -> Iterator[Progress]:
    """The progress over `total` cases; shows nothing unless `wanted`."""
    bar = _bar(total, title, unit) if wanted and sys.stderr.isatty() else None
    try:
        yield Progress(bar, wanted)
    finally:
        if bar is not None:
            bar.close()


def _bar(total: int, title: str, unit: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=unit, desc=title, leave=False, file=sys.stderr)
