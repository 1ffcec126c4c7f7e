"""Exceptions of `load` and `describe`."""


class MatrixNotAvailable(LookupError):  # noqa: N818
    """A matrix is not available: its name is unknown, its download failed, or there is no network.

    Examples
    --------
    >>> from linforest_precond import matrices
    >>> try:
    ...     A = matrices.load("HB/no_such_matrix", cache="/nowhere", offline=True)
    ... except matrices.MatrixNotAvailable:
    ...     A = matrices.poisson((10, 10))
    >>> A.shape
    (100, 100)
    """


class UnknownMatrix(MatrixNotAvailable):
    """No matrix of the collection has this name, or more than one."""


class MatrixOffline(MatrixNotAvailable):
    """There is no local copy of the matrix, and the network is down or disabled."""
