"""What goes wrong when a matrix is asked for by name."""


class MatrixNotAvailable(LookupError):  # noqa: N818
    """A matrix that cannot be had: its name is unknown, its download failed, or there is no network.

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
    """No matrix of the collection has this name, or more than one has it."""


class MatrixOffline(MatrixNotAvailable):
    """The matrix is not at hand, and the network is down or switched off."""
