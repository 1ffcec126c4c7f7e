"""The statuses of the columns of Krylov solvers on the CPU, and sizes of their scalars."""

import math

from linforest_precond.backends.krylov_codes import RunningState, StatusCode

# Statuses are floats, as in the reports of the CUDA backend.
RUNNING, HALF, LIMIT = map(float, (RunningState.RUNNING, RunningState.HALF, RunningState.LIMIT))
CONVERGED, DIVERGED = float(StatusCode.CONVERGED), float(StatusCode.DIVERGED)
RHO, OMEGA = float(StatusCode.RHO), float(StatusCode.OMEGA)
INDEFINITE, NONFINITE = float(StatusCode.INDEFINITE), float(StatusCode.NONFINITE)
SINGULAR = float(StatusCode.SINGULAR)


def root(square):
    return math.sqrt(abs(square.real))  # a user's inner product may round below 0


def size(number):
    return math.hypot(number.real, number.imag)  # abs() raises an exception where it overflows
