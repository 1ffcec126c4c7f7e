"""How far a run has come, and how many iterations it still needs: predicted from its residuals.

Early in a run every doubling of the iterations reduces the residual by a similar number of digits, because
components of the error vanish one after the other; late in a run each iteration does. Between the two,
`GROWTH` is the ratio of the digits won in one doubling to those won in the doubling before: 1 early on, 2 for
linear convergence. On runs of CG and BiCGStab with simple preconditioners, 1.5 has predicted the total of
iterations without bias and within a factor of two in four of five cases, from iteration 6 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Digits won in one doubling of the iterations, in units of those won in the doubling before.
GROWTH = 1.5
# The same for a run that converges linearly: fewer iterations are rarely needed than this predicts.
LINEAR = 2.0
# No run is predicted to need more than this many times the iterations that it has made.
HORIZON = 10
# Iterations that a run makes before it may count as stalled.
LONG = 500


def remaining(digits: Sequence[float], growth: float, horizon: float = HORIZON) -> float:
    """Iterations that a run still needs.

    Parameters
    ----------
    digits
        For each iteration from 0 on, the digits by which the smallest residual so far is above its target.
    growth
        `GROWTH` for the expected number, `LINEAR` for a cautious one.
    horizon
        The most to predict, in units of the iterations made.
    """
    done, left = len(digits) - 1, digits[-1]
    if left <= 0:
        return 0.0
    if done == 0:
        return math.inf
    won = digits[done // 2] - left
    if won <= 0:
        return horizon * done
    doublings = math.log(1 + left * (growth - 1) / (won * growth)) / math.log(growth)
    return min(2**doublings - 1, horizon) * done


def iterations_to(digits: Sequence[float], left: float) -> float:
    """The first iteration that lacked at most `left` digits, interpolated; the last one if none did."""
    after = next((i for i, each in enumerate(digits) if each <= left), len(digits) - 1)
    if after == 0 or digits[after] > left:
        return float(after)
    before = digits[after - 1]
    return after - (left - digits[after]) / (before - digits[after])


def is_stalled(digits: Sequence[float], least: int = LONG, won: float = 0.05) -> bool:
    """Whether the second half of a long run has hardly won anything."""
    done = len(digits) - 1
    return done >= least and digits[done // 2] - digits[-1] < won
