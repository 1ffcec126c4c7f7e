"""Counts the modules that a call crosses: those whose functions run, and those of them that are given A.

Of a warm call on the CPU: ``python tests/project/crossed_modules.py`` prints the modules that are given A, in
the order of their first call.
"""

import os
import sys

import numpy as np

import linforest_precond as lf
from linforest_precond.matrix.checked import CheckedMatrix

CALLS = {
    "lf.tridiagonal(A)": (20, lf.tridiagonal),
    "lf.solve(A, b)": (20, lambda A: lf.solve(A, np.ones(A.shape[0]))),
    "lf.solve(A, b), with trials": (150, lambda A: lf.solve(A, np.ones(A.shape[0]))),
}


def crossed(name):
    """The modules whose functions run in a call, and those of them that are given A or its checked matrix."""
    side, call = CALLS[name]
    A = lf.matrices.poisson((side, side))
    run, given = {}, {}

    def watch(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("linforest_precond"):
            return
        run[module] = None
        code = frame.f_code
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(each) for each in named]
        if any(each is A or isinstance(each, CheckedMatrix) for each in values):
            given[module] = None

    call(A)  # compiles and imports
    sys.setprofile(watch)
    try:
        call(A)
    finally:
        sys.setprofile(None)
    return list(run), list(given)


if __name__ == "__main__":
    os.environ.setdefault("LINFOREST_CALIBRATION", "default")  # as in tests
    for name in CALLS:
        run, given = crossed(name)
        print(f"{name}: {len(run)} modules, {len(given)} are given A", *given, sep="\n  ")
