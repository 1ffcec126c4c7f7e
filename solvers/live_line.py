"""`LiveLine` shows the progress of a solve on the standard error output, and logs it."""

from __future__ import annotations

import logging
import math
import shutil
import sys
import time
from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from linforest_precond.backends.arguments import as_flag
from linforest_precond.backends.returns import Report

LOGGER = logging.getLogger("linforest_precond.solvers")
# Seconds between two states: a terminal line is rewritten, other streams get a new line.
TERMINAL_INTERVAL, LINE_INTERVAL = 0.2, 5.0
DEFAULT_COLUMNS = 100


class Sample(NamedTuple):
    """The state of the worst system at one time: the ratio is of its residual to the target."""

    iteration: int
    seconds: float
    residual: float
    ratio: float


class LiveLine:
    """Shows iteration, residual, rate and estimated end of a solve: on stderr if `verbose`, and logged."""

    def __init__(
        self,
        name: str,
        norms: npt.NDArray[np.float64],
        targets: npt.NDArray[np.float64],
        most_iterations: int,
        verbose: bool,
    ) -> None:
        self.name, self.verbose, self._most = name, verbose, most_iterations
        self._norms, self._targets = np.where(norms > 0, norms, 1.0), np.maximum(targets, 1e-300)
        self._terminal = verbose and sys.stderr is not None and sys.stderr.isatty()
        self._began = time.perf_counter()
        self._shown = self._logged = self._began
        self._samples: deque[Sample] = deque()
        self._last: Sample | None = None
        self._width = 0

    def see(self, report: Report) -> None:
        """Take over a report, and show it if the last state is old enough."""
        norms = report.norms[-1] if len(report.norms) else np.empty(0)
        if not norms.size or np.isnan(norms).all():
            return
        ratios = norms / self._targets
        worst = int(np.nanargmax(ratios))
        now = time.perf_counter()
        residual = float(norms[worst] / self._norms[worst])
        iteration = int(report.iterations.max())
        self._last = Sample(iteration, now - self._began, residual, float(ratios[worst]))
        if now - self._shown >= (TERMINAL_INTERVAL if self._terminal else LINE_INTERVAL):
            self._show(now)

    def _show(self, now: float) -> None:
        assert self._last is not None
        self._shown = now
        text = self.text()
        self._samples.append(self._last)
        # The rate is that of the later half of the iterations.
        while len(self._samples) > 1 and self._samples[1].iteration <= self._last.iteration / 2:
            self._samples.popleft()
        if self._terminal:
            self._rewrite(text)
        elif self.verbose:
            print(text, file=sys.stderr, flush=True)
        if now - self._logged >= LINE_INTERVAL:
            self._logged = now
            LOGGER.info("%s", text)

    def text(self) -> str:
        """The present state in words."""
        last = self._last
        assert last is not None
        text = f"{self.name}: iteration {last.iteration:,}, residual {last.residual:.1e}"
        rate = self._rate()
        if rate is None:
            return text
        left = self._seconds_left(rate)
        return f"{text}, {rate:.3g} per iteration, " + (
            f"about {duration(left)} left" if rate < 1 else f"at most {duration(left)} left"
        )

    def _rate(self) -> float | None:
        """The factor of the residual in one iteration."""
        first, last = self._samples[0] if self._samples else None, self._last
        if first is None or last is None or last.iteration <= first.iteration:
            return None
        if not (first.ratio > 0 and last.ratio > 0 and math.isfinite(last.ratio / first.ratio)):
            return None
        return float((last.ratio / first.ratio) ** (1 / (last.iteration - first.iteration)))

    def _seconds_left(self, rate: float) -> float:
        last, first = self._last, self._samples[0]
        assert last is not None
        most = max(0, self._most - last.iteration)
        needed = math.log(max(last.ratio, 1.0)) / -math.log(rate) if 0 < rate < 1 else most
        pace = (last.seconds - first.seconds) / (last.iteration - first.iteration)
        return min(needed, most) * pace

    def _rewrite(self, text: str) -> None:
        text = text[: shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns - 1]
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def close(self, ending: str = "") -> None:
        """Remove the live line, and show how the solve ended."""
        seconds = time.perf_counter() - self._began
        if self._width:
            self._rewrite("")
            print("\r", end="", file=sys.stderr, flush=True)
        if not ending:
            return
        text = f"{self.name}: {ending} in {duration(seconds)}"
        if self._last is not None:
            text += f", residual {self._last.residual:.1e}"
        if self.verbose:
            print(text, file=sys.stderr, flush=True)
        if seconds >= LINE_INTERVAL:
            LOGGER.info("%s", text)


def live_line(
    name: str,
    norms: npt.NDArray[np.float64],
    targets: npt.NDArray[np.float64],
    most_iterations: int,
    verbose: bool,
) -> LiveLine | None:
    """The line of a solve, or None where nobody would see it."""
    verbose = as_flag("verbose", verbose)
    if not verbose and not LOGGER.isEnabledFor(logging.INFO):
        return None
    return LiveLine(name, norms, targets, most_iterations, verbose)


def duration(seconds: float) -> str:
    """Seconds in the unit that fits.

    Examples
    --------
    >>> from linforest_precond.solvers.live_line import duration
    >>> duration(0.25), duration(42.3), duration(400), duration(9000)
    ('0.2 s', '42 s', '6.7 min', '2.5 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
