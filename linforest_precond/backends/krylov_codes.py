"""The codes that Krylov solvers and both backends share; CUDA headers are generated from these tables."""

from enum import IntEnum, StrEnum

# The most inner products that one scalar step takes.
LARGEST_SUMS = 2
# Residuals in twice the working precision: longer rows are summed by 32 lanes, added in their order.
LONGEST_ROW_OF_LANE = 128


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
    SINGULAR = -16
    TIME_LIMIT = -17  # of `lf.Solver`; never set by a backend
    UNATTAINABLE = -18  # found where convergence is verified; never set by a backend


class RunningState(IntEnum):
    """The state of a system that has not got a `StatusCode` yet; both share one status word."""

    RUNNING = 1
    # x lacks a part that a later update adds: the half step of BiCGStab, after which it converged, or the
    # correction of a cycle of GMRES that has ended.
    HALF = 2
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
    MINRES_BEGIN = 10  # beta = sqrt(r2* z), of the first Lanczos vector
    MINRES_ALPHA = 11  # alpha = v* q
    MINRES_BETA = 12  # beta = sqrt(r2* z), then the rotation that eliminates it
    MINRES_STEP = 13  # norm(r)


class CycleStep(IntEnum):
    """The same for methods that keep a basis: the inner products are with all of its vectors.

    A cycle of GMRES has an orthonormal basis V, one of IDR(s) the bases G and U and the shadow vectors P.
    """

    ARNOLDI_PROJECT = 0  # h = V* w, norm(w)
    ARNOLDI_ROTATE = 1  # the same of w - V h; the new column of the triangular factor, norm(r)
    ARNOLDI_RESTART = 2  # norm(r) of the true residual, after a cycle
    IDR_BEGIN = 3  # f = P* r
    IDR_PROJECT = 4  # P* g, or g* r and g* g: the length of the step
    IDR_STEP = 5  # norm(r), and f = P* r where a cycle ends


class VectorUpdate(StrEnum):
    """The updates of vectors, by the names of their kernels."""

    CG_DIRECTION = "cg_direction"  # p = z + beta p
    CG_STEP = "cg_step"  # x += alpha p, r -= alpha q
    BICGSTAB_DIRECTION = "bicgstab_direction"  # p = r + beta (p - omega v)
    BICGSTAB_HALF_STEP = "bicgstab_half_step"  # r -= alpha v: the vector s
    BICGSTAB_STEP = "bicgstab_step"  # x += alpha phat + omega shat, r -= omega t
    MINRES_BEGIN = "minres_begin"  # v = z / beta; the vectors before it are 0
    MINRES_LANCZOS = (
        "minres_lanczos"  # r2 = q - (beta / the previous beta) r1 - (alpha / beta) r2, r1 = old r2
    )
    MINRES_STEP = "minres_step"  # x += phi w, r = sn^2 r - tau r2, and the next v


# The vectors that the kernel of an update takes, the pairs whose inner products it computes, and the scalar
# step that takes these.
UPDATES = {
    VectorUpdate.CG_DIRECTION: (("z", "p"), (), None),
    VectorUpdate.CG_STEP: (("x", "r", "p", "q"), (("r", "r"),), ScalarStep.CG_STEP),
    VectorUpdate.BICGSTAB_DIRECTION: (("r", "p", "v"), (), None),
    VectorUpdate.BICGSTAB_HALF_STEP: (("r", "v"), (("r", "r"),), ScalarStep.BICGSTAB_HALF_STEP),
    VectorUpdate.BICGSTAB_STEP: (
        ("x", "r", "t", "phat", "shat", "shadow"), (("r", "r"), ("shadow", "r")), ScalarStep.BICGSTAB_STEP,
    ),
    VectorUpdate.MINRES_BEGIN: (("z", "v", "r1", "w1", "w2"), (), None),
    VectorUpdate.MINRES_LANCZOS: (("q", "r1", "r2"), (), None),
    VectorUpdate.MINRES_STEP: (
        ("x", "r", "r2", "z", "v", "w1", "w2"), (("r", "r"),), ScalarStep.MINRES_STEP,
    ),
}  # fmt: skip


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
    POSITION = 5  # iterations of the present cycle, of methods that have cycles
    OUTCOME = 6  # the status that a HALF system gets when its cycle has been completed
    CYCLE_NORM = 7  # norm(r) that the cycle began with
    PRODUCT2 = 8  # norm(w)^2 of an Arnoldi step before orthogonalization


class MinresNumber(IntEnum):
    """The real numbers of MINRES for a system, by the names of Paige & Saunders."""

    ALPHA = 0
    BETA = 1
    OLD_BETA = 2
    DBAR = 3
    EPSILON = 4
    PHIBAR = 5
    COSINE = 6
    SINE = 7
    NORM2 = 8  # of A, estimated from the tridiagonal matrix, squared
    FROM_R1 = 9  # coefficients of the Lanczos vectors in the next one
    FROM_R2 = 10
    FROM_W1 = 11  # coefficients of `minres_step`, in the order that its kernels take
    FROM_W2 = 12
    FROM_V = 13
    PHI = 14
    KEPT = 15  # r = KEPT r - TAU r2
    TAU = 16
    INVERSE_BETA = 17


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
