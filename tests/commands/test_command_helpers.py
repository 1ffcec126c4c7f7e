"""Small functions of the commands, by examples."""

import linforest_precond as lf


def test_preconditioner_name():
    from linforest_precond.app.commands.preconditioners import preconditioner_name

    assert (
        preconditioner_name("block"),
        preconditioner_name("approximate-inverse"),
        preconditioner_name("auto"),
    ) == ("block_tridiagonal", "approximate_inverse", "auto")


def test_properties():
    from linforest_precond.app.commands.properties import properties

    found = properties(lf.matrices.poisson((10, 10)))
    assert (found.symmetric, found.dominant_rows, found.most, found.components) == (True, 100, 5, 1)


def test_trial():
    from linforest_precond.app.commands.advice import trial

    A = lf.matrices.poisson((20, 20))
    found = trial(A, lf.jacobi(A), "cg")
    assert (found["solver"], found["converged"], found["iterations"] < 70) == ("cg", True, True)
