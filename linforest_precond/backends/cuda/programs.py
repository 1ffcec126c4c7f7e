"""All CUDA programs with all combinations of macros they are compiled with.

The tests compile all of them; `kernels` of runtime/loader.py compiles those that are used.
"""

import itertools

import numpy as np

from .approximate_inverse import row_systems
from .csgraph import coloring
from .forest import factor
from .matching import best_edges
from .matrix.long_row_split import PIECE, SUMMED_PIECE
from .multigrid import smoothed_aggregation
from .reordering.rcm_batch import BATCH_BYTES
from .runtime.loader import wide_type
from .tridiagonal import tiles


def _every(**choices):
    """The Cartesian product of the choices, as macros for `program`."""
    return [dict(zip(choices, each)) for each in itertools.product(*choices.values())]


_VALUES = (np.float32, np.float64, np.complex64, np.complex128)
_WEIGHTS = (np.float32, np.float64)
_INDICES = (np.int32, np.int64)
_BLOCKS = (1, 2, 4)
# Lanes per row of neighbours.
_WIDTHS = (4, 8, 16, 32)
# Lanes per row of a matrix.
_TEAMS = (*smoothed_aggregation.TEAMS, smoothed_aggregation.MOST_LANES)
_KINDS = (tiles.PLAIN, tiles.SYMMETRIC, tiles.TRANSPOSED)
# The stored precision and that of the vectors: the same, or double.
_APPLIED = [
    {"VALUE": value, "RESULT": result}
    for value, result in itertools.product(_VALUES, _VALUES)
    if value == result or (value, result) in ((np.float32, np.float64), (np.complex64, np.complex128))
]
# Programs that search rows for the best edge.
_SEARCHES = _every(WEIGHT=_WEIGHTS, INDEX=_INDICES, PIECE=(best_edges.PIECE,))
# Scalar (not block) tridiagonal matrices, and the double-precision type.
_SCALAR = [{"VALUE": value, "WIDE": wide_type(value), "BLOCK": 1} for value in _VALUES]

PROGRAMS = {
    "runtime/prefix_sum": _every(INDEX=_INDICES),
    "matrix/conversion": _every(INDEX=(np.int32,)),
    "matrix/entries": _every(VALUE=_VALUES, INDEX=_INDICES),
    "forest/factor": _every(
        WEIGHT=_WEIGHTS,
        INDEX=_INDICES,
        DEGREE=(1, 2, 3, 4),
        PIECE=(factor.PIECE,),
        SWITCHES=(0, 1),
        STAGED=(0, 1),
        SPLIT=(0, 1),
    ),
    "matching/auction": _every(INDEX=_INDICES),
    "matching/balancing": _every(INDEX=_INDICES),
    "matching/locally_dominant": _SEARCHES,
    "matching/out_of_core_matching": _SEARCHES,
    "matching/suitor": _SEARCHES,
    "matching/proposals": _SEARCHES,
    "forest/bidirectional_scan": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "forest/linear_forest": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "forest/ordering": _every(INDEX=_INDICES),
    "forest/record_checks": _every(INDEX=_INDICES),
    "forest/band_refresh": _every(VALUE=_VALUES, INDEX=_INDICES),
    "forest/bands": _every(VALUE=_VALUES, INDEX=_INDICES),
    "matching/matched_edge_values": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "forest/pairs": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "forest/path_pairs": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "matching/aggregates": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "matrix/logarithms": _every(WEIGHT=_WEIGHTS),
    "matrix/log_scaling": _every(INDEX=_INDICES),
    "matrix/row_scaling": _every(VALUE=_VALUES, INDEX=_INDICES),
    "matrix/row_merging": _every(VALUE=_VALUES, INDEX=_INDICES),
    "matrix/sparse_products": _every(VALUE=_VALUES, INDEX=_INDICES),
    "matrix/transposition": _every(VALUE=_VALUES, INDEX=_INDICES),
    "multigrid/galerkin": _every(VALUE=_VALUES, INDEX=_INDICES),
    "multigrid/node_graph": _every(VALUE=_VALUES, INDEX=_INDICES),
    "multigrid/tentative": [
        {"VALUE": value, "WIDE": wide_type(value), "INDEX": index}
        for value, index in itertools.product(_VALUES, _INDICES)
    ],
    "multigrid/path_interpolation": _every(WEIGHT=_WEIGHTS, INDEX=_INDICES),
    "multigrid/smoothed_aggregation": _every(VALUE=_VALUES, INDEX=_INDICES, TEAM=_TEAMS),
    "multigrid/transfers": _every(VALUE=_VALUES, INDEX=_INDICES),
    "forest/block_bands": _every(VALUE=_VALUES, INDEX=_INDICES),
    "matrix/diagonal_blocks": [{**types, "INDEX": index} for types in _APPLIED for index in _INDICES],
    "matrix/pattern_digest": _every(INDEX=_INDICES),
    "matrix/pattern_scan": _every(INDEX=_INDICES),
    "csgraph/components": _every(INDEX=_INDICES),
    "csgraph/fastsv": _every(INDEX=_INDICES),
    "csgraph/strong_components": _every(INDEX=_INDICES),
    "csgraph/forward_backward": _every(INDEX=_INDICES),
    "csgraph/luby": _every(INDEX=_INDICES),
    "csgraph/degrees": _every(INDEX=_INDICES),
    "csgraph/traffic": _every(VALUE=(np.int64, np.float32, np.float64), INDEX=_INDICES),
    "csgraph/traffic_links": _every(INDEX=_INDICES),
    "csgraph/tree_roots": _every(INDEX=_INDICES),
    "csgraph/spanning_forest": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "csgraph/awerbuch_shiloach": _every(VALUE=_WEIGHTS, INDEX=_INDICES),
    "csgraph/sorted_neighbors": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "csgraph/breadth_first": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "reordering/gap_metrics": _every(INDEX=(np.int32,)),
    "reordering/refinement": _every(LOGARITHMIC=(0, 1)),
    "reordering/rcm_leveled": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "reordering/rcm_batch": _every(INDEX=_INDICES, WIDTH=_WIDTHS, BATCH_BYTES=(BATCH_BYTES,)),
    "reordering/rcm_unordered": _every(INDEX=_INDICES, WIDTH=_WIDTHS),
    "matrix/long_row_split": _every(
        INDEX=_INDICES, PIECE=sorted({PIECE, SUMMED_PIECE, factor.PIECE, coloring.PIECE})
    ),
    "csgraph/independent_set": _every(INDEX=_INDICES, PIECE=(PIECE,)),
    "csgraph/coloring": _every(INDEX=_INDICES, PIECE=(coloring.PIECE,)),
    "csgraph/label_propagation": _every(INDEX=_INDICES, PIECE=(PIECE,)),
    "csgraph/pagerank": _every(VALUE=_WEIGHTS, INDEX=_INDICES, PIECE=(SUMMED_PIECE,)),
    "matrix/sums": _every(VALUE=_WEIGHTS, INDEX=(np.int32,)),
    "tridiagonal/extrapolation": _every(VALUE=_VALUES, BLOCK=(1,)),
    "tridiagonal/pivots": _every(VALUE=_VALUES, BLOCK=_BLOCKS),
    "tridiagonal/sweeps": [tiles.macros(*each) for each in itertools.product(_VALUES, _BLOCKS, _KINDS)],
    "tridiagonal/pivoting": [
        {**types, "SINGULAR": size}
        for types in _SCALAR
        for size in ((0, 4, 8) if types["VALUE"] in (np.float64, np.complex128) else (0,))
    ],
    "tridiagonal/refinement": [
        {"VALUE": value, "WIDE": wide_type(value), "BLOCK": block}
        for value, block in itertools.product(_VALUES, _BLOCKS)
    ],
    "ilu/level_schedule": _every(INDEX=_INDICES),
    "ilu/incomplete_factors": _every(VALUE=_VALUES, INDEX=_INDICES),
    "ilu/triangular": [{**types, "INDEX": index} for types in _APPLIED for index in _INDICES],
    "approximate_inverse/row_systems": _every(
        VALUE=(np.float64, np.complex128),
        INDEX=_INDICES,
        TEAM=(*row_systems.TEAMS, row_systems.WARP),
        BLOCK=(1,),
    ),
    "krylov/norms": [{"VALUE": value, "WIDE": np.float64, "BLOCK": 1} for value in _WEIGHTS],
    "krylov/ordered_rows": _every(VALUE=_VALUES, BLOCK=(1,), INDEX=_INDICES),
    "krylov/updates": _SCALAR,
    "krylov/arnoldi": _SCALAR,
    "krylov/idr": _SCALAR,
    "krylov/spmv": [
        {**types, "INDEX": index, "PIECE": PIECE} for types, index in itertools.product(_SCALAR, _INDICES)
    ],
    "multigrid/dense_matrix": [
        {"VALUE": value, "WIDE": wide_type(value), "INDEX": index}
        for value, index in itertools.product(_VALUES, _INDICES)
    ],
    "multigrid/dense_inverse": [{"VALUE": wide_type(result), "RESULT": result} for result in _VALUES],
    "multigrid/strength": _every(VALUE=_VALUES, INDEX=_INDICES),
    "multigrid/vector_ops": [
        {**types, "INDEX": index, "TEAMS": teams}
        for types, index, teams in itertools.product(_SCALAR, _INDICES, (0, 1))
    ],
    "similarity/token_filter": _every(INDEX=(np.int32,)),
    "similarity/element_weights": _every(INDEX=(np.int32,)),
    "similarity/set_matchings": _every(INDEX=(np.int32,)),
    "similarity/certificates": _every(INDEX=(np.int32,)),
}
