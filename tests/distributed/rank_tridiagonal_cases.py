"""(Block) tridiagonal systems for tests over ranks, and their solution by ranks and by one."""

import numpy as np

from linforest_precond.distributed import RankTridiagonalSolver, simulate
from linforest_precond.precond.tridiagonal.repair import rows_to_repair
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records.forest import Bands

# What ranks must find as one rank does.
FINDINGS = (
    *("pivoted", "lifted", "regularized", "clipped", "repaired_paths", "repaired_couplings", "symmetric"),
    *("hermitian", "positive_definite"),
)
HERMITIAN = {"definite": 6.0, "clipped": 1.5, "indefinite": 0.0}
KINDS = (*HERMITIAN, "general", "dominant", "path", "singular path", "zero diagonal")


def system(n, b, kind, seed, dtype=np.float64, breaks=0.1):
    """Bands of n (block) rows; paths end with probability `breaks` after each."""
    rng = np.random.default_rng(seed)
    shape = (n,) if b == 1 else (n, b, b)
    lower, diagonal, upper = (random_values(rng, shape, dtype) for _ in range(3))
    eye = np.ones(shape, dtype) if b == 1 else np.tile(np.eye(b, dtype=dtype), (n, 1, 1))
    if kind in HERMITIAN:
        shift = HERMITIAN[kind] * b
        diagonal = (diagonal + adjoint(diagonal)) * (0.15 if shift else 0.5) + eye * dtype(shift)
        lower[1:] = adjoint(upper)[:-1]
    elif kind == "dominant":
        diagonal = diagonal + eye * dtype(9 * b)
    elif kind == "zero diagonal":
        diagonal[...] = 0
    elif kind in ("path", "singular path"):
        lower, diagonal, upper, breaks = -eye, 2 * eye, -eye, 0
        if kind == "singular path":
            diagonal[[0, -1]] = eye[:1] if n > 1 else 0
    cut = rng.random(n) < breaks
    cut[0] = True
    lower[cut] = 0
    upper[:-1][cut[1:]] = 0
    upper[-1:] = 0
    return lower, diagonal.astype(dtype), upper


def random_values(rng, shape, dtype):
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def adjoint(blocks):
    return blocks.conj() if blocks.ndim == 1 else blocks.conj().swapaxes(1, 2)


def magnitudes_of_rows(bands, seed):
    """Sums of the magnitudes of rows that have entries outside of the bands, too."""
    kept = sum(abs(band.reshape(band.shape[0], -1, band.shape[-1] if band.ndim > 1 else 1)) for band in bands)
    sums = kept.sum(axis=2).astype(np.float64)
    return sums * (1 + 3 * np.random.default_rng(seed).random(sums.shape))


def solved_by_one(bands, right, magnitudes=None, **options):
    """The solver, the solutions with the matrix and with its transpose."""
    decide = None if magnitudes is None else lambda found, w: rows_to_repair(found, w, magnitudes)
    solver = solver_of(Bands(*bands), decide=decide, **options)
    return solver, solver.solve(right), solver.solve(right, transpose=True)


def solved_by_ranks(bands, right, offsets, magnitudes=None, **options):
    """The solvers of all ranks, and the joined solutions."""
    b = 1 if bands[1].ndim == 1 else bands[1].shape[1]

    def solve(comm):
        own = slice(*offsets[comm.rank : comm.rank + 2])
        sums = None if magnitudes is None else lambda: magnitudes[own]
        solver = RankTridiagonalSolver(
            Bands(*(band[own] for band in bands)), comm, magnitudes=sums, **options
        )
        side = right[own.start * b : own.stop * b]
        return solver, solver.solve(side), solver.solve(side, transpose=True)

    solvers, *solutions = zip(*simulate(len(offsets) - 1, solve))
    return list(solvers), *(np.concatenate(parts) for parts in solutions)


def dense(bands):
    """The matrix."""
    lower, diagonal, upper = (band.reshape(-1, *(band.shape[1:] or (1, 1))) for band in bands)
    n, b = diagonal.shape[:2]
    A = np.zeros((n, n, b, b), diagonal.dtype)
    i = np.arange(n)
    A[i, i] = diagonal
    A[i[1:], i[:-1]] = lower[1:]
    A[i[:-1], i[1:]] = upper[:-1]
    return A.transpose(0, 2, 1, 3).reshape(n * b, n * b)
