"""The vector update of the Chebyshev iteration."""

from numba import prange

from ..runtime.arrays import readonly
from ..runtime.jit import kernel, serial_version

ENTRIES_AT_ONCE = 4096


def extrapolate(x, z, y, momentum, factor):
    """y = x + momentum (x - y) + factor z."""
    function = extrapolate_entries if y.size > ENTRIES_AT_ONCE else serial_version(extrapolate_entries)
    function(readonly(x.reshape(-1)), readonly(z.reshape(-1)), y.reshape(-1), float(momentum), float(factor))


@kernel(parallel=True)
def extrapolate_entries(x, z, y, momentum, factor):
    for i in prange(y.size):
        value = x[i] + factor * z[i]
        if momentum != 0.0:
            value += momentum * (x[i] - y[i])
        y[i] = value
