"""What takes time on a GPU beside the bytes that are counted: latencies, measured on one H200.

On systems with fewer than about 10^5 rows, most of the time of an iteration is that of launches. Seconds are
counted as the bytes that could be moved meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

from linforest_precond.precond.ilu.order_choice import COSTS as LEVEL_COSTS

# Seconds of an iteration with any Krylov method, and of the start of a run: its vectors, its first launches
# one by one and the capture of a graph.
ITERATION, START = 4e-5, 2e-3
# Seconds of the launch of a product with A, and the bytes of one that takes little longer: more entries of an
# approximate inverse are nearly free then.
PRODUCT, SHORT_PRODUCT = 4e-6, 3e7


class SetupCost(NamedTuple):
    """Products with A that take as long as the setup of a large system, and seconds for a small one."""

    products: float
    seconds: float


# Least squares by rows, for a matrix that is not Hermitian.
LEAST_SQUARES = SetupCost(600, 2.5e-3)


def as_bytes(seconds: float) -> float:
    """The bytes that could be moved meanwhile."""
    return seconds * LEVEL_COSTS["cuda"].bandwidth
