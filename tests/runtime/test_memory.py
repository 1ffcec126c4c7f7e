"""Peak device memory of the whole chain, in units of the matrix."""

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.matrix.checked import checked

SIDE = 700  # vertices along a side of the grid

pytestmark = [pytest.mark.gpu, pytest.mark.slow]


@pytest.fixture
def extra_memory(bench):
    """Peak bytes of a chain, results included, over the bytes of the matrix."""
    memory = bench("measures.memory")

    def measure(A):
        lf.pipeline.tridiagonal_bands(A)  # compiles, and fills CuPy's caches
        return memory.peak_bytes(lambda: lf.pipeline.tridiagonal_bands(A)) / memory.matrix_bytes(A)

    return measure


def without_some_of_the_upper_triangle(A):
    """Every eighth row loses its entries right of the diagonal: 8.5 of 9 entries per row remain."""
    coo = A.tocoo()
    keep = (coo.col <= coo.row) | (coo.row % 8 != 0)
    coo.coords = tuple(array[keep] for array in coo.coords)
    coo.data = coo.data[keep]
    return coo.tocsr()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestPeak:
    def test_symmetric(self, cuda, extra_memory, dtype):
        A = lf.matrices.aniso(2, SIDE, dtype=dtype, device="cuda")
        assert checked(A).symmetric
        assert extra_memory(A) <= 1.5

    def test_nonsymmetric_values(self, cuda, extra_memory, bench, dtype):
        cases = bench("systems.cases")
        _, A = cases.convection(cases.Plan(aniso=SIDE), dtype=dtype, device="cuda")
        graph = checked(A).graph
        assert graph.slots_are_matrix and not graph.values_are_matrix
        del graph
        assert extra_memory(A) <= 4.0

    def test_nonsymmetric_pattern(self, cuda, extra_memory, dtype):
        A = without_some_of_the_upper_triangle(lf.matrices.aniso(2, SIDE, dtype=dtype))
        assert 8.4 < A.nnz / A.shape[0] < 8.6
        A = cuda.csr(A)
        assert not checked(A).graph.slots_are_matrix
        assert extra_memory(A) <= 4.0
