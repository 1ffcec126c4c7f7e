"""The schema of a packed hierarchy: its options, levels and coarsest solve."""

from __future__ import annotations

from linforest_precond.graph.matching.repeated_coarsening import is_stalled
from linforest_precond.precond.multigrid.coarsest import SCHEMA as COARSEST
from linforest_precond.precond.multigrid.grid_transfer import columns_of
from linforest_precond.precond.multigrid.hierarchy_level import SCHEMA as LEVEL
from linforest_precond.precond.multigrid.multigrid_cycle import CYCLES, twice_visited
from linforest_precond.precond.multigrid.pairwise_aggregation import WEIGHTS
from linforest_precond.precond.multigrid.smoothers import SMOOTHERS
from linforest_precond.precond.storage.schema import (
    Choice,
    Complaint,
    Fields,
    Flag,
    Integer,
    ListOf,
    Names,
    Nested,
    Optional,
    Real,
    Record,
    Size,
    Table,
)
from linforest_precond.precond.storage.schema_arrays import OwnNumbers

COARSENINGS = "smoothed_aggregation", "matching", "paths"
# What `multilevel` says about its choices.
NOT_DOMINANT = "neither Hermitian nor diagonally dominant: along paths"
LONG_ROWS = "rows sum to many times the diagonal: Chebyshev"
ADAPTIVE = "adaptive candidates"
REASONS = NOT_DOMINANT, LONG_ROWS, ADAPTIVE
# More would hardly end.
MOST_SWEEPS = 1000
# In files: of the coarsest level in one cycle; and a bound on the depth of recursion.
MOST_VISITS = 2**20
MOST_LEVELS = 200

OPTIONS_SCHEMA = Table(
    {
        "coarsening": Choice(*COARSENINGS),
        "matchings": Integer(1),
        "smoother": Choice(*SMOOTHERS),
        "cycle": Choice(*CYCLES),
        "max_coarse": Integer(1),
        "max_levels": Integer(1),
        "smooth_prolongation": Flag(),
        "presmooth": Integer(0, MOST_SWEEPS),
        "postsmooth": Integer(0, MOST_SWEEPS),
        "weights": Choice(*WEIGHTS),
        "strength": Real(0.0, 1.0),
        "seed": Integer(0, 2**64 - 1),
        "reasons": ListOf(Choice(*REASONS), 0, len(REASONS)),
    }
)


def levels_shrink(fields: Fields, names: Names) -> Complaint:
    """Each level but the last is smoothed and coarsened, to the size of the next; see `is_stalled`."""
    levels, coarsest = fields["levels"], fields["coarsest"]
    sizes = [level["csr"]["diagonal"].size for level in levels]
    for i, level in enumerate(levels[:-1]):
        transfer, left = level["transfer"], sizes[i + 1]
        if level["smoother"] is None or transfer is None or columns_of(transfer) != left:
            return f"levels.{i}", f"have a smoother, and a transfer to the {left} unknowns of the next level"
        if is_stalled(sizes[i], left):
            return f"levels.{i}", f"be coarsened to far fewer than {sizes[i]} unknowns"
    if levels[-1]["transfer"] is not None or (levels[-1]["smoother"] is None) == (coarsest is None):
        return (
            f"levels.{len(levels) - 1}",
            "have no transfer, and a smoother if and only if it is not inverted",
        )
    if sizes[0] != fields["n"] or (coarsest is not None and len(coarsest["inverse"]) != sizes[-1]):
        return "coarsest", "be of the last level, and n of the first"
    return None


def own_data_is_of_the_finest_level(fields: Fields, names: Names) -> Complaint:
    own, stored = fields["own_data"], fields["levels"][0]["csr"]["data"]
    if own is None or (own.shape == stored.shape and own.dtype.itemsize > stored.dtype.itemsize):
        return None
    return "own_data", "be the finest level's entries in higher precision"


def cycle_ends(fields: Fields, names: Names) -> Complaint:
    visits = 2 ** len(twice_visited(fields["cycle"], len(fields["levels"]) - 1))
    return None if visits <= MOST_VISITS else ("levels", f"be fewer for {fields['cycle']}-cycles")


SCHEMA = Table(
    {
        "n": Size("n"),
        "levels": ListOf(Nested(LEVEL, value="value"), 1, MOST_LEVELS),
        "coarsest": Optional(Record("Coarsest", COARSEST, value="value")),
        "cycle": Choice(*CYCLES),
        "options": OPTIONS_SCHEMA,
        "own_data": Optional(OwnNumbers("own_entries")),
        **{name: Flag() for name in ("hermitian", "definite", "centered", "stalled")},
    },
    levels_shrink,
    own_data_is_of_the_finest_level,
    cycle_ends,
)
