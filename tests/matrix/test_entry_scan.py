"""Scans of entries on the GPU: in one launch, and in several for large matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
import strategies as graphs

import linforest_precond as lf

MATRICES = {
    "none": lambda: sp.csr_array((0, 0)),
    "empty rows": lambda: sp.csr_array((5, 5)),
    "grid": lambda: sp.csr_array(lf.matrices.poisson((300, 211))),
    "nonsymmetric": lambda: sp.csr_array(graphs.random_graph(3000, "unique", symmetric=False)),
    "star": lambda: sp.csr_array(
        graphs.from_edges(5000, np.zeros(4999, int), np.arange(1, 5000), np.ones(4999))
    ),
}


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", graphs.DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name", MATRICES)
def test_both_ways_agree(cuda, name, index, dtype):
    from linforest_precond.backends.cuda.matrix import entries

    A = cuda.csr(graphs.with_types(MATRICES[name](), dtype, index))
    ways = [way(A.indptr, A.indices, A.data, 0.5) for way in (entries._described, entries._scanned)]
    length = entries.WORDS + entries.SUMS
    reports = [cuda.host(report)[:length].tolist() for report, _ in ways]
    assert reports[0] == reports[1]
    assert cuda.host(ways[0][1]).tobytes() == cuda.host(ways[1][1]).tobytes()


@pytest.mark.gpu
def test_bad_row_pointers_end_the_scan(cuda):
    from linforest_precond.backends.cuda.matrix import entries

    A = cuda.csr(sp.csr_array(lf.matrices.poisson((60, 60))))
    indptr = A.indptr.copy()
    indptr[100] = 10**6
    assert entries.scan(indptr, A.indices, A.data).first_bad_row in (99, 100)
