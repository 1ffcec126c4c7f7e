"""Small functions on numbers and matrices, by examples."""

import numpy as np

import linforest_precond as lf


def test_exponent_of():
    from linforest_precond.matrix.value_range import exponent_of

    assert (exponent_of(np.array([0.75, -4.0])), exponent_of(np.array([5e-324]))) == (3, -1073)


def test_least_exponent_of():
    from linforest_precond.matrix.value_range import least_exponent_of

    assert least_exponent_of(np.array([0.75, 0.0, -4.0])) == 0


def test_shifted():
    from linforest_precond.matrix.value_range import shifted

    assert shifted(np.array([5e-324, -1e-323]), 1074).tolist() == [1.0, -2.0]


def test_magnitude_bits():
    from linforest_precond.matrix.value_range import magnitude_bits

    smaller, larger = magnitude_bits(np.array([-1e-310, 2e-310]))
    assert 0 < smaller < larger


def test_is_nonzero():
    from linforest_precond.matrix.value_range import is_nonzero

    assert is_nonzero(np.array([-0.0, 1e-310])).tolist() == [False, True]


def test_sparse_like():
    import scipy.sparse

    from linforest_precond.matrix.conversion import sparse_like

    A = scipy.sparse.csc_matrix((2, 2))
    assert type(sparse_like(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__ == "csc_matrix"


def test_csr_sparse_like():
    import scipy.sparse

    from linforest_precond.matrix.conversion import csr_sparse_like

    A = scipy.sparse.csc_matrix((2, 2))
    assert (
        type(csr_sparse_like(A, np.ones(1), np.array([2]), np.array([0, 1]), (1, 3))).__name__ == "csr_matrix"
    )


def test_printable():
    from linforest_precond.records.printing import printable

    assert str(printable("\x1b[31mA\udcff.mtx é")) == "\\x1b[31mA\\xff.mtx é"


def test_in_words():
    from linforest_precond.precond.parts.part import in_words

    assert (
        in_words({"pivots_perturbed": 1200}, positive_definite=False)
        == "1,200 pivots perturbed; not known to be positive definite: not for CG"
    )
    assert in_words({}, positive_definite=True) == "none"


def test_proposition_times():
    from linforest_precond.graph.forest.factor import proposition_times
    from linforest_precond.matrix.checked import checked

    found = proposition_times(checked(lf.matrices.poisson((20, 20))).graph, n=2, k=1, repeats=3)
    assert (len(found.seconds), found.vertices, found.counted_bytes) == (3, 379, 37844)
