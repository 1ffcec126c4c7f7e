"""Residuals b - A x in twice the working precision, on the device: the same bits as on the CPU."""

import numpy as np

from linforest_precond.backends.krylov_codes import LONGEST_ROW_OF_LANE

from ..runtime import INDICES, WEIGHTS, Program, Struct, cupy, launch

ENTRIES = Struct("Entries", "krylov/residuals.cu")
# VALUE is the type of the vectors, DATA that of the entries: the same, or single precision.
PROGRAM = Program(
    "krylov/residuals",
    [{"VALUE": value, "DATA": data} for value in WEIGHTS for data in WEIGHTS if np.can_cast(data, value)],
    INDEX=INDICES,
    LONGEST_ROW_OF_LANE=LONGEST_ROW_OF_LANE,
)


class Entries:
    def __init__(self, indptr, indices, data, period=0):
        self._indptr, self._indices, self._data, self._period = indptr, indices, data, period

    @classmethod
    def of_dense(cls, A):
        n, dtype = A.shape[0], np.result_type(A.dtype, np.float32)
        return cls(cupy.arange(n + 1) * n, cupy.arange(n), cupy.ascontiguousarray(A, dtype).reshape(-1), n)

    def residual(self, b, x, target):
        rows, width, real, data = target.shape[0], x.shape[0], target.real.dtype, self._data
        if not target.size:
            return
        b, x, result = (cupy.ascontiguousarray(each).view(real) for each in (b, x, target))
        matrix = ENTRIES(
            indptr=self._indptr, indices=self._indices, data=data, rows=rows, width=width,
            period=self._period, parts=2 if data.dtype.kind == "c" else 1,
        )  # fmt: skip
        program = PROGRAM(VALUE=real, DATA=data.real, INDEX=self._indices)
        launch(program.subtract_products, (matrix, b, x, result.size // rows, result), items=result.size)

    def magnitudes(self, x):
        sizes, x = (abs(each).astype(np.float64, copy=False) for each in (self._data, x))
        b = cupy.zeros((self._indptr.size - 1, x.shape[1]))
        result = cupy.empty_like(b)
        Entries(self._indptr, self._indices, sizes, self._period).residual(b, x, result)
        return -result
