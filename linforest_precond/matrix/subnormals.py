"""Comparisons that are exact for subnormal numbers: CuPy compiles with --ftz=true, which takes them for 0."""

from __future__ import annotations

import numpy as np

from linforest_precond.annotations import Array


def magnitude_bits(values: Array) -> Array:
    """The bits of real numbers without their signs, as integers that compare as the magnitudes do.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.subnormals import magnitude_bits
    >>> smaller, larger = magnitude_bits(np.array([-1e-310, 2e-310]))
    >>> bool(0 < smaller < larger)
    True
    """
    word = np.dtype(f"i{values.dtype.itemsize}")
    return values.view(word) & np.iinfo(word).max


def is_nonzero(values: Array) -> Array:
    """Where real numbers are not 0.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond.subnormals import is_nonzero
    >>> is_nonzero(np.array([-0.0, 1e-310])).tolist()
    [False, True]
    """
    nonzero: Array = magnitude_bits(values) != 0
    return nonzero
