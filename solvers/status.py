"""`Status` names the outcomes of a solve, the values of `info`, and gives advice."""

from __future__ import annotations

import operator
from enum import IntEnum

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.krylov_codes import StatusCode


class Status(IntEnum):
    """How a solve ended, with advice; equal to the returned `info`, except for `MAXITER`.

    ``info > 0`` is a number of iterations and means `MAXITER`: see `from_info`.

    Attributes
    ----------
    advice : str
        The cause, and what to try.

    Examples
    --------
    >>> from linforest_precond.solvers import Status
    >>> print(Status.from_info(-12))
    indefinite
    >>> Status.from_info(250) is Status.MAXITER
    True
    """

    advice: str

    def __new__(cls, info: StatusCode, advice: str) -> Status:
        member = int.__new__(cls, info)
        member._value_ = int(info)
        member.advice = advice
        return member

    CONVERGED = StatusCode.CONVERGED, "The residual meets the tolerance."
    MAXITER = (
        StatusCode.MAXITER,
        "The iterations ran out before the residual met the tolerance. Raise maxiter, continue with x0=x, or "
        "try a stronger preconditioner.",
    )
    RHO = (
        StatusCode.RHO,
        "Breakdown: rho vanished, because the residual is orthogonal to the shadow residual, and a restart "
        "did not help. Try another preconditioner, or gmres.",
    )
    OMEGA = (
        StatusCode.OMEGA,
        "Breakdown: omega or alpha is undefined, because an inner product vanished, as it does in bicgstab "
        "for matrices close to skew-symmetric. Try gmres, another preconditioner or another x0, and cg "
        "where A is positive definite.",
    )
    INDEFINITE = (
        StatusCode.INDEFINITE,
        "A or M is not positive definite, which cg and fcg need, or M is not, which minres needs. Use minres "
        "for a Hermitian A, gmres or bicgstab for others, or another M.",
    )
    STAGNATED = (
        StatusCode.STAGNATED,
        "The true residual b - A x stagnates above the tolerance: rounding errors limit it, or A is "
        "singular. Raise rtol, use double precision, or try a stronger preconditioner.",
    )
    DIVERGED = (
        StatusCode.DIVERGED,
        "The residual grew far beyond the initial one. Try another preconditioner or another solver, and "
        "check that M approximates the inverse of A, not A.",
    )
    NONFINITE = (
        StatusCode.NONFINITE,
        "A number overflowed or is NaN. Check that A and M return finite numbers, scale the system, or use "
        "double precision.",
    )
    SINGULAR = (
        StatusCode.SINGULAR,
        "Breakdown: no vector of the Krylov space reduces the residual. A or M may be singular: b must lie "
        'in the range of A. nullspace="constant" projects constants out. x of minres is near a least '
        "squares solution.",
    )
    TIME_LIMIT = (
        StatusCode.TIME_LIMIT,
        "The time limit has passed before the residual met the tolerance. Raise time_limit, or continue with "
        "x0=x.",
    )
    UNATTAINABLE = (
        StatusCode.UNATTAINABLE,
        "The tolerance is below what float64 can verify for this A, or float32 for vectors of that type: "
        "rounding errors of x cause a larger residual. Raise rtol or use double precision.",
    )

    @classmethod
    def from_info(cls, info: int) -> Status:
        """The status of the `info` of one system; ValueError for a number that is no `info`."""
        try:
            number = operator.index(info)
        except TypeError:
            raise ValueError(f"info must be one integer, got {info!r}") from None
        if number > 0:
            return cls.MAXITER
        for status in cls:
            if status == number:
                return status
        codes = ", ".join(str(int(status)) for status in cls if status <= 0)
        raise ValueError(f"info must be positive or one of {codes}, got {number}")

    def __str__(self) -> str:
        return self.name.lower()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a solve: a KeyboardInterrupt that has the present iterate.

    Attributes
    ----------
    x : array
        The iterate with the smallest residual that the method had at hand, of b's shape.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> def impatient(x):
    ...     raise KeyboardInterrupt
    >>> try:
    ...     lf.solvers.cg(lf.matrices.poisson((9, 9)), np.ones(81), callback=impatient)
    ... except lf.solvers.Interrupted as stopped:
    ...     print(stopped.x.shape)
    (81,)
    """

    def __init__(self, x: Array) -> None:
        super().__init__("interrupted")
        self.x = x
