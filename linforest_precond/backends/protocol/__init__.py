"""What a backend offers: the same rooms with the same functions on the CPU and on the GPU.

A module for every room: it has a class for every module that code above the backends calls, and one for the
room. A test compares both backends with these classes, names of arguments included. `records` has what the
backends read of the records.
"""

from __future__ import annotations

from typing import Any, Protocol

from linforest_precond.backends.protocol.approximate_inverse import ApproximateInverseRoom
from linforest_precond.backends.protocol.csgraph import CsgraphRoom
from linforest_precond.backends.protocol.forest import ForestRoom
from linforest_precond.backends.protocol.ilu import IluRoom
from linforest_precond.backends.protocol.krylov import KrylovRoom
from linforest_precond.backends.protocol.matching import MatchingRoom
from linforest_precond.backends.protocol.matrix import MatrixRoom
from linforest_precond.backends.protocol.multigrid import MultigridRoom
from linforest_precond.backends.protocol.reordering import ReorderingRoom
from linforest_precond.backends.protocol.runtime import RuntimeRoom
from linforest_precond.backends.protocol.similarity import SimilarityRoom
from linforest_precond.backends.protocol.tridiagonal import TridiagonalRoom


class Backend(Protocol):
    """A backend module, `linforest_precond.backends.cpu` or `linforest_precond.backends.cuda`.

    Attributes
    ----------
    name
        "cpu" or "cuda".
    maps_files
        Whether the arrays of a matrix may be memory-mapped files.
    max_rows
        The largest number of rows of a matrix.
    checks_shared_indices
        Whether the kernels that may follow the user's own index array check every index.
    xp
        The array library: NumPy or CuPy.
    sparse
        Its sparse matrices: `scipy.sparse` or `cupyx.scipy.sparse`.
    """

    name: str
    maps_files: bool
    max_rows: int
    checks_shared_indices: bool
    xp: Any
    sparse: Any

    runtime: RuntimeRoom
    matrix: MatrixRoom
    forest: ForestRoom
    matching: MatchingRoom
    csgraph: CsgraphRoom
    reordering: ReorderingRoom
    tridiagonal: TridiagonalRoom
    ilu: IluRoom
    approximate_inverse: ApproximateInverseRoom
    multigrid: MultigridRoom
    krylov: KrylovRoom
    similarity: SimilarityRoom
