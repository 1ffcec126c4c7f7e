"""Conversion of arrays to another precision."""

import itertools

import numpy as np

from ..runtime import Program, Struct, address, cupy, launch

# The struct in conversion.cu.
MOST_ARRAYS = 8
CONVERSION = Struct(
    "Conversion",
    "matrix/conversion.cu",
    **{"from": "P" * MOST_ARRAYS, "to": "P" * MOST_ARRAYS, "ends": "q" * MOST_ARRAYS},
)
PROGRAM = Program("matrix/conversion", INDEX=np.int32)


def converted(arrays, dtype):
    """Arrays in another type; in one launch where all are to be rounded to single precision."""
    if any(array.dtype.itemsize != 2 * dtype.itemsize for array in arrays):
        return [array.astype(dtype, copy=False) for array in arrays]
    results = [cupy.empty(array.shape, dtype) for array in arrays]
    for first in range(0, len(arrays), MOST_ARRAYS):
        some = slice(first, first + MOST_ARRAYS)
        _narrow(arrays[some], results[some])
    return results


def _narrow(arrays, results):
    """Complex numbers are two real ones each."""
    unused = [0] * (MOST_ARRAYS - len(arrays))
    ends = list(itertools.accumulate(array.nbytes // 8 for array in arrays))
    conversion = CONVERSION(
        **{
            "from": [*map(address, arrays), *unused],
            "to": [*map(address, results), *unused],
            "ends": [*ends, *unused],
        }
    )
    launch(PROGRAM().narrow_arrays, (conversion, ends[-1]), items=ends[-1])
