"""Schemas of the records that preconditioners hold: orderings, forests, bands and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond.graph.forest.pairs import PAIRINGS
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.matrix.rectangles import RectangularCSR
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.schema import Checks, Fields, Names, RecordSpec, Spec, nested
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering


def rank_inverts_order(fields: Fields, names: Names) -> Checks:
    """`order` is then a permutation: no number occurs twice in it."""
    order, rank = fields["order"], fields["rank"]
    inverse = np.array_equal(rank[order], np.arange(order.size))
    yield "rank", "be the inverse of the permutation in order", inverse


def paths_follow_order(fields: Fields, names: Names) -> Checks:
    """Vertices are sorted by path id and position; position 1 is the lower end, whose index is the id."""
    order = fields["ordering"]["order"]
    path, position = fields["path_id"][order], fields["position"][order]
    starts, places = position == 1, np.arange(order.size)
    first = np.maximum.accumulate(np.where(starts, places, 0))
    yield "position", "count from 1 along each path", np.array_equal(position, places - first + 1)
    ascending = np.array_equal(path, order[first]) and (np.diff(path) >= 0).all()
    yield "path_id", "be the first vertex of each path, and ascend in the order", ascending
    paths, longest, counts = int(starts.sum()), int(position.max(initial=0)), fields["counts"].tolist()
    wanted = f"be {paths} paths, {longest} vertices of the longest, and the cycles broken"
    yield "counts", wanted, counts[:2] == [paths, longest] and len(counts) > 2 and counts[2] <= order.size
    around = np.full((order.size, 2), -1, order.dtype)
    np.copyto(around[1:, 0], order[:-1], where=~starts[1:])
    np.copyto(around[:-1, 1], order[1:], where=~starts[1:])
    same = np.array_equal(np.sort(fields["neighbors"][order]), np.sort(around))
    yield "neighbors", "be the vertices before and after each on its path", same


def blocks_hold_every_vertex(fields: Fields, names: Names) -> Checks:
    """Once each; ghosts fill up blocks that begin with a vertex."""
    size, members, n = fields["block_size"], fields["members"], names["n"]
    known = size in PAIRINGS and len(fields["m"]) == PAIRINGS[size] + 1
    sizes = ", ".join(map(str, PAIRINGS))
    yield "block_size", f"be one of {sizes}, with an m for each pairing and the paths", known
    fitting = members.size == names["blocks"] * size
    yield "members", f"hold {size} vertices for each of the {names['blocks']} blocks", fitting
    yield "members", "have no ghost in front of a block", (members[::size] >= 0).all()
    met = np.bincount(members[members >= 0], minlength=n)
    yield "members", f"hold each of the {n} vertices once", (met == 1).all()


def bands_end(fields: Fields, names: Names) -> Checks:
    """The first row is coupled to none before it, the last one to none after it."""
    yield "lower", "be 0 outside the matrix", not fields["lower"][:1].any()
    yield "upper", "be 0 outside the matrix", not fields["upper"][-1:].any()


def rows_hold_entries(fields: Fields, names: Names) -> Checks:
    """Row pointers begin with 0, never fall, and end with the number of entries."""
    indptr, entries = fields["indptr"], fields["data"].size
    ends = indptr.size and indptr[0] == 0 and indptr[-1] == entries
    yield "indptr", f"never fall from 0 to the {entries} entries", ends and (np.diff(indptr) >= 0).all()


def columns_ascend(fields: Fields, names: Names) -> Checks:
    yield from rows_hold_entries(fields, names)
    yield "indices", "ascend in each row", _csr(fields, names).has_canonical_format


def diagonal_is_stored(fields: Fields, names: Names) -> Checks:
    """The diagonal and the longest row are those of the CSR arrays."""
    A = _csr(fields, names)
    yield "diagonal", "be the diagonal of the matrix", np.array_equal(A.diagonal(), fields["diagonal"])
    longest = int(np.diff(A.indptr).max(initial=0))
    yield "longest_row", f"be {longest}", fields["longest_row"] == longest


def _csr(fields: Fields, names: Names) -> Any:
    shape = names["n"], names.get("width", names["n"])
    return sp.csr_array((fields["data"], fields["indices"], fields["indptr"]), shape)


def csr_arrays(below: str) -> dict[str, Spec]:
    """The fields of a sparse matrix with n rows, by the name of its number of columns."""
    return {
        "data": schema.numbers("entries"),
        "indptr": schema.indices("n + 1"),
        "indices": schema.indices("entries", below=below),
    }


ORDERING = RecordSpec(
    Ordering,
    {"order": schema.indices("n", below="n"), "rank": schema.indices("n", below="n")},
    rank_inverts_order,
)

FOREST = RecordSpec(
    Forest,
    {
        "neighbors": schema.indices("n", 2, least=-1, below="n"),
        "values": schema.real_numbers("n", 2),
        "slots": schema.optional(schema.slots("n", 2, least=-1)),
        "path_id": schema.indices("n", below="n"),
        "position": schema.indices("n", least=1),
        "ordering": nested(ORDERING, "n", "index"),
        "counts": schema.counts("counted"),
        "progress": schema.either(schema.items(int, bool), array=schema.counts(2)),
    },
    paths_follow_order,
)

BLOCK_FOREST = RecordSpec(
    BlockForest,
    {
        "forest": nested(FOREST, "index", n="blocks"),
        "members": schema.indices("places", least=-1, below="n"),
        "block_size": schema.size("block_size"),
        "coverage": schema.real(),
        "m": schema.items(schema.integer(1), length=(1, 1 + max(PAIRINGS.values()))),
        "pairing": schema.one_of("edges", "paths"),
    },
    blocks_hold_every_vertex,
)

BLOCK_BANDS, BANDS = (
    RecordSpec(Bands, dict.fromkeys(("lower", "diagonal", "upper"), schema.numbers(*shape)), bands_end)
    for shape in (("blocks", "block_size", "block_size"), ("n",))
)

MATRIX = RecordSpec(
    CheckedMatrix,
    {**csr_arrays(below="n"), "diagonal": schema.numbers("n")},
    columns_ascend,
    diagonal_is_stored,
    name="CSR",  # in files
)

RECTANGLE = RecordSpec(
    RectangularCSR,
    {"width": schema.size("width"), **csr_arrays(below="width")},
    columns_ascend,
    name="Rectangle",  # in files
)
