"""How a solve ended: the names of the numbers that are returned as `info`, and what to do about them."""

from __future__ import annotations

import operator
from enum import IntEnum


class Status(IntEnum):
    """
    How a solve ended, with advice; equal to the `info` that was returned, but for `MAXITER`.

    ``info > 0`` is a number of iterations, and all such numbers mean `MAXITER`: see `from_info`.

    Attributes
    ----------
    advice : str
        What happened and what to try.

    Examples
    --------
    >>> from linforest_precond.solvers import Status
    >>> print(Status.from_info(-12))
    indefinite
    >>> Status.from_info(250) is Status.MAXITER
    True
    """

    advice: str

    def __new__(cls, info: int, advice: str) -> Status:
        member = int.__new__(cls, info)
        member._value_ = info
        member.advice = advice
        return member

    CONVERGED = 0, "The residual meets the tolerance."
    MAXITER = (
        1,
        "The iterations ran out before the residual met the tolerance. Raise maxiter, go on with x0=x, or "
        "try a stronger preconditioner.",
    )
    RHO = (
        -10,
        "rho vanished: the residual is orthogonal to the one of the start, and a new start from it did not "
        "help. Try another preconditioner.",
    )
    OMEGA = (
        -11,
        "omega or alpha has no value: a product that bicgstab divides by vanished, as it does for matrices "
        "that are close to skew-symmetric. Try another preconditioner or another x0, and cg where A is "
        "positive definite.",
    )
    INDEFINITE = (
        -12,
        "A or M is not positive definite, which cg and fcg need. Use bicgstab, or another M if A is.",
    )
    STAGNATED = (
        -13,
        "The true residual does not come down to the tolerance: rounding errors keep it up, or A is "
        "singular. Raise rtol, use double precision, or try a stronger preconditioner.",
    )
    DIVERGED = (
        -14,
        "The residual grew far beyond the one of the start. Try another preconditioner or another solver, "
        "and check that M approximates the inverse of A, not A.",
    )
    NONFINITE = (
        -15,
        "A number overflowed or is NaN. Check that A and M return finite numbers, scale the system, or use "
        "double precision.",
    )

    @classmethod
    def from_info(cls, info: int) -> Status:
        """The status that the `info` of one system stands for; ValueError if it stands for none."""
        try:
            number = operator.index(info)
        except TypeError:
            raise ValueError(f"info must be one integer, got {info!r}") from None
        if number > 0:
            return cls.MAXITER
        if number not in tuple(cls):
            codes = ", ".join(str(int(status)) for status in cls if status <= 0)
            raise ValueError(f"info must be positive or one of {codes}, got {number}")
        return cls(number)

    def __str__(self) -> str:
        return self.name.lower()
