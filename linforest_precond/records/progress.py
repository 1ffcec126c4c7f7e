"""Progress of long work on standard error: a bar on a terminal where tqdm is installed, else lines."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from linforest_precond.records.printing import one_line


class Progress:
    """Reports the steps that are done; of an unknown number of steps where `total` is None."""

    def __init__(self, total: int | None, title: str, unit: str, lines: bool, bar: Any = None):
        self.total, self.title, self.unit, self.lines, self.bar = total, title, unit, lines, bar
        self.done = 0

    def working_on(self, text: str) -> None:
        """Show the current step, on a bar only."""
        if self.bar is not None:
            self.bar.set_postfix_str(one_line(text))

    def finished(self, text: str) -> None:
        """One more step is done; the text is its line."""
        text = one_line(text)
        self.done += 1
        if self.bar is not None:
            self.bar.update()
            self.bar.write(text, file=sys.stderr)
        elif self.lines:
            print(text, file=sys.stderr, flush=True)

    def advance(self, steps: int = 1) -> None:
        """`steps` more steps are done; without a bar there is a line for every tenth of them."""
        tenths = self._tenths()
        self.done += steps
        if self.bar is not None:
            self.bar.update(steps)
        elif self.lines and self._tenths() > tenths:
            print(f"{self.title}: {self.done:,} of {self.total:,} {self.unit}s", file=sys.stderr, flush=True)

    def _tenths(self) -> int:
        return 10 * self.done // self.total if self.total else 0


@contextlib.contextmanager
def showing(total: int | None, wanted: bool, title: str = "study", unit: str = "case") -> Iterator[Progress]:
    """The progress over `total` steps; shows nothing unless `wanted`."""
    bar = _bar(total, title, unit) if wanted and sys.stderr.isatty() else None
    try:
        yield Progress(total, title, unit, wanted, bar)
    finally:
        if bar is not None:
            bar.close()


def _bar(total: int | None, title: str, unit: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit=unit, desc=title, leave=False, file=sys.stderr)
