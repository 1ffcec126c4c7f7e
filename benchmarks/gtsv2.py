"""cuSPARSE's tridiagonal solver gtsv2, through CuPy's bindings."""

from __future__ import annotations

import cupy
from cupy.cuda.device import get_cusparse_handle
from cupy_backends.cuda.libs import cusparse

LETTERS = {"float32": "s", "float64": "d"}


class Gtsv2:
    """gtsv2 on the given bands, with or without pivoting; every solve factors again."""

    def __init__(self, bands, pivoting):
        self.name = "cuSPARSE gtsv2" + ("" if pivoting else "_nopivot")
        self._bands = bands.lower, bands.diagonal, bands.upper
        self._rows = bands.diagonal.size
        function = LETTERS[str(bands.diagonal.dtype)] + self.name.removeprefix("cuSPARSE ")
        self._solve = getattr(cusparse, function)
        buffer_size = getattr(cusparse, f"{function}_bufferSizeExt")
        any_vector = bands.diagonal
        self._buffer = cupy.empty(buffer_size(*self._arguments(any_vector)), "uint8")

    def solve_in_place(self, x):
        """Overwrite the right-hand side with the solution."""
        self._solve(*self._arguments(x), self._buffer.data.ptr)

    def _arguments(self, x):
        addresses = (array.data.ptr for array in (*self._bands, x))
        return get_cusparse_handle(), self._rows, 1, *addresses, self._rows
