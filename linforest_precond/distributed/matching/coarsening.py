"""Coarsening over ranks: every matched pair becomes an aggregate, and single vertices join one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.distributed.forest.graph import graph_of
from linforest_precond.distributed.matching.aggregates import aggregates_of_mates, galerkin_product
from linforest_precond.distributed.matching.matching import RankMatching
from linforest_precond.distributed.partition.entries import without_rounding
from linforest_precond.distributed.partition.matrix import Matrix, agreed_options
from linforest_precond.distributed.partition.owners import lookup
from linforest_precond.graph.matching.matching import tie_key_of
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False, repr=False)
class RankCoarsening(ReadOnlyArrays, Printed):
    """A rank's part of a coarsening.

    Attributes
    ----------
    A : Matrix
        The coarse matrix, partitioned among the same ranks: an aggregate is owned by the rank of its lowest
        vertex.
    aggregates : (own rows,) array of int64
        The aggregate of each own vertex, a row of the coarse matrix. Aggregates are numbered in the order of
        their lowest vertices.
    n_vertices : int
        Vertices of the fine matrix.
    """

    A: Matrix
    aggregates: Array
    n_vertices: int

    def _printout(self) -> Printout:
        n = self.A.shape[0]
        return Printout.of(
            "coarsening over ranks",
            ("unknowns", f"{self.n_vertices:,} to {n:,}"),
            ("aggregates", f"{self.n_vertices / max(n, 1):.2f} vertices on average"),
        )


@named_arguments
def coarsen(A: Matrix, matching: RankMatching | Array, *, seed: int = 0) -> RankCoarsening:
    """Make a coarser matrix by aggregation over ranks: the two vertices of every matched edge become one.

    The aggregates and the coarse matrix, the Galerkin product, are those of
    `linforest_precond.graph.coarsen`, bit for bit, for any number of ranks.

    Parameters
    ----------
    A : Matrix
        The partitioned matrix. All ranks call the function together.
    matching : RankMatching or (own rows,) array of int
        The mates of the own vertices, global ids, -1 for a single one: from `matching`, or any other pairs.
    seed : int
        Seed of the order among equally heavy neighbours of a single vertex, as in `matching`.

    Returns
    -------
    RankCoarsening
        The coarse matrix, partitioned among the ranks, and the aggregates of the own vertices.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> from linforest_precond.distributed import coarsen, matching, scatter, simulate
    >>> A = lf.matrices.poisson((100, 100))
    >>> def coarse(comm):
    ...     parts = scatter(A, comm)
    ...     return coarsen(parts, matching(parts))
    >>> print(simulate(2, coarse)[0])
    coarsening over ranks
      unknowns    10,000 to 4,547
      aggregates  2.20 vertices on average
    """
    seed = agreed_options(A, lambda: {"seed": as_integer("seed", seed) % 2**64})["seed"]
    with A.comm.checking():
        mate = as_own_mates(A, matching)
    with A.comm.together():
        exact = without_rounding(A)
        check_mutual(exact, mate)
        graph = graph_of(exact)
        found = aggregates_of_mates(graph, mate, tie_key_of(seed))
        coarse = galerkin_product(exact, found).on(A.backend)
        return RankCoarsening(coarse, found.numbers, A.shape[0])


def as_own_mates(A: Matrix, matching: Any) -> Array:
    """The mates of own rows as global ids; those outside of the matrix are refused."""
    # stall: aggregates are found on the host
    mate = np.asarray(on_host(matching.mate if isinstance(matching, RankMatching) else matching))
    if mate.shape != (A.n_local,):
        raise ValueError(
            f"matching must have one number for each of the {A.n_local} own rows, got shape {mate.shape}"
        )
    if mate.size and mate.dtype.kind not in "iu":
        raise TypeError(f"matching must hold integers, got {mate.dtype}")
    mate = mate.astype(np.int64)
    if ((mate < -1) | (mate >= A.shape[0])).any():
        raise ValueError(f"matching must name vertices below {A.shape[0]}, or -1")
    return mate


def check_mutual(A: Matrix, mate: Array) -> None:
    """Refuse mates that do not name each other."""
    own = np.arange(A.first, A.first + A.n_local)
    matched = mate >= 0
    back = lookup(A.comm, A.offsets, mate, mate[matched])
    with A.comm.checking():
        if (back != own[matched]).any() or (mate == own).any():
            raise ValueError("matching must name as mates two vertices that name each other, or -1")
