"""Couplings are clipped along paths of a general matrix whose pivots are weak for lack of neglected entries.

A tridiagonal part may be worse than the diagonal: where the entries outside of it would have kept its pivots
away from zero, elimination along a path ends in tiny pivots, or in pivots of the wrong sign, and the
preconditioned matrix has eigenvalues of both signs. Three things must come together in a path:

- a pivot is *weak*: less than a quarter of its diagonal entry, or of the other sign (of a block: 1 over a
  diagonal entry of P^-1 D, for the pivot block P of a diagonal block D), and less than the weight that its
  row neglects (of a block: 1 over a diagonal entry of P^-1). So diagonally dominant rows are never weak;
- its rows have, on average, less than two thirds of their off-diagonal weight in the bands. Bands that hold
  more have the pivots of A itself, and clipping makes them worse;
- no diagonal entry is negligible in its row of A: clipping approaches the diagonal, which is then no better.

Such a path is clipped to ``|l u| <= 0.4995^2 |d d'|``: its pivots are then at least half of its diagonal
entries. For Hermitian matrices with a positive diagonal, `make_definite` has a stricter criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from linforest_precond.backends.annotations import Array
from linforest_precond.precond.tridiagonal.segments import Triple, backend_of_bands

# A mask of the rows to be repaired, by the bands and the inverses of their pivots; None may stand for no row.
Decision: TypeAlias = Callable[[Triple, Array], "Array | None"]


def rows_to_repair(
    bands: Triple, inverse: Array, magnitudes: Array, order: Array | None = None
) -> Array | None:
    """A mask of the (block) rows of all paths to be repaired; None may stand for no row.

    `magnitudes` are the sums of the magnitudes of A's rows, and `order` the row of A that each row of the
    system is, -1 for a ghost row; without it, they are in the order of the system, with 0 for ghost rows.
    """
    rooms = backend_of_bands(bands).tridiagonal
    rows: Array | None = rooms.repairs.rows_to_repair(*bands, inverse, magnitudes, order)
    return rows
