"""A matrix whose arrays change while functions work on it: the results are undefined, but each call must end.

Run as a program with the name of a door and a number of seconds; prints how many calls ended.
"""

import sys
import threading
import time
import warnings

import numpy as np
from broken_matrices import DOORS

import linforest_precond as lf

SIDE = 50


class Scrambler(threading.Thread):
    """Writes random numbers into the index arrays and values of a matrix, and the right ones again."""

    def __init__(self, A, seed=0):
        super().__init__(daemon=True)
        self.rng, self.ended = np.random.default_rng(seed), threading.Event()
        self.arrays = [(array, array.copy()) for array in (A.indptr, A.indices, A.data)]

    def run(self):
        while not self.ended.is_set():
            array, right = self.arrays[self.rng.integers(3)]
            places = self.rng.integers(array.size, size=self.rng.integers(1, 40))
            array[places] = self.rng.integers(-(2**31), 2**31 - 1, places.size)
            time.sleep(0 if self.rng.random() < 0.5 else 2e-4)
            array[...] = right

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def call(door, A):
    """One call; whether it gave a result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            door(A)
        except (ValueError, TypeError, RuntimeError, ArithmeticError):
            return False
    return True


def main(name, seconds):
    A = lf.matrices.poisson((SIDE, SIDE))
    if name == "M of cg":
        solve = lf.solvers.cg
        door = lambda M: solve(lf.matrices.poisson((SIDE, SIDE)), np.ones(SIDE**2), M=M, maxiter=5)  # noqa: E731
    else:
        door = DOORS[name]
    call(door, A)
    calls = results = 0
    with Scrambler(A):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            results += call(door, A)
            calls += 1
    print(f"{name}: {calls} calls, {results} results")


if __name__ == "__main__":
    for each in sys.argv[2:]:
        main(each, float(sys.argv[1]))
