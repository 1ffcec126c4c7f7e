"""The codes that Krylov solvers and both backends share; CUDA headers are generated from these tables."""

from __future__ import annotations

from enum import IntEnum, StrEnum

# The most inner products that one scalar step takes.
LARGEST_SUMS = 2


class StatusCode(IntEnum):
    """How the iteration of a system ended: the values of `solvers.Status`, which says what they mean."""

    CONVERGED = 0
    MAXITER = 1  # only `info`, whose positive values count iterations; never set by a backend
    RHO = -10
    OMEGA = -11
    INDEFINITE = -12
    STAGNATED = -13
    DIVERGED = -14
    NONFINITE = -15


class RunningState(IntEnum):
    """The state of a system that has not got a `StatusCode` yet; both share one status word."""

    RUNNING = 1
    HALF = 2  # converged after the half step of BiCGStab; the next update adds that half step to x
    LIMIT = 3  # stopped by maxiter


class ScalarStep(IntEnum):
    """The recurrences between vector operations: what inner products give for the scalars of a method.

    Vectors and scalars have the names of the textbooks; `*` stands for the conjugate transpose.
    """

    START = 0  # norm(r), rho = r* r
    CG_RHO = 1  # rho = r* z, beta = rho / (the previous rho)
    FCG_RHO = 2  # rho = r* z, beta = -alpha q* z / (the previous rho)
    CG_CURVATURE = 3  # alpha = rho / (p* A p)
    CG_STEP = 4  # norm(r)
    BICGSTAB_ALPHA = 5  # alpha = rho / (shadow* v)
    BICGSTAB_HALF_STEP = 6  # norm(s)
    BICGSTAB_OMEGA = 7  # omega = t* s / t* t
    BICGSTAB_STEP = 8  # norm(r), rho = shadow* r, beta = rho / (the previous rho) * alpha / omega
    ERROR = 9  # norm(x - x_true), for histories


class VectorUpdate(StrEnum):
    """The updates of vectors, by the names of their kernels."""

    CG_DIRECTION = "cg_direction"  # p = z + beta p
    CG_STEP = "cg_step"  # x += alpha p, r -= alpha q
    BICGSTAB_DIRECTION = "bicgstab_direction"  # p = r + beta (p - omega v)
    BICGSTAB_HALF_STEP = "bicgstab_half_step"  # r -= alpha v: the vector s
    BICGSTAB_STEP = "bicgstab_step"  # x += alpha phat + omega shat, r -= omega t


class ScalarSlot(IntEnum):
    """Where the scalars of a system are stored; they are complex for a complex system."""

    RHO = 0
    ALPHA = 1
    BETA = 2
    OMEGA = 3


class NumberSlot(IntEnum):
    """Where the real numbers of a system are stored."""

    NORM2 = 0  # norm(r)^2
    SHADOW2 = 1  # norm(shadow)^2, the shadow residual of BiCGStab
    FRESH = 2  # 1 from a (re)start to the first direction, for which beta is 0
    TARGET = 3  # norm(r) that counts as converged
    DIVERGENCE_NORM = 4  # norm(r) beyond which the system diverges


class ReportHead(IntEnum):
    """The first numbers of a report.

    Then come the systems' statuses and iterations, the records' steps and times, and their norms and errors
    for every system.
    """

    ACTIVE = 0  # systems that are RUNNING or HALF
    RECORDS = 1  # written so far; the ring buffer holds the last ones
    STEPS = 2  # iterations of a system that ran all the time
    UNMEASURED = 3  # 1 where the last record lacks its errors
    START_TIME = 4  # of the device's clock, in nanoseconds
