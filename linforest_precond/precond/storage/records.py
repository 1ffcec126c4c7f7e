"""Schemas of the records that preconditioners hold: orderings, forests, bands and matrices."""

from __future__ import annotations

import numpy as np

from linforest_precond.graph.forest.pairs import PAIRINGS
from linforest_precond.matrix.checked import CheckedMatrix
from linforest_precond.precond.storage import schema
from linforest_precond.precond.storage.schema import Checks, Fields, Names, Nested, RecordSpec
from linforest_precond.records.forest import Bands, BlockForest, Forest, Ordering


def rank_inverts_order(fields: Fields, names: Names) -> Checks:
    """`order` is then a permutation: no number occurs twice in it."""
    order, rank = fields["order"], fields["rank"]
    inverse = np.array_equal(rank[order], np.arange(order.size))
    yield "rank", "be the inverse of the permutation in order", inverse


def paths_follow_order(fields: Fields, names: Names) -> Checks:
    """Sorted by path id and position, each path begins with its lower end, which is its id, at position 1."""
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


def neighbors_follow_paths(fields: Fields, names: Names) -> Checks:
    """The neighbours of a vertex are those before and after it on its path, in any order."""
    order = fields["ordering"]["order"]
    inside = fields["position"][order[1:]] > 1
    wanted = np.full((order.size, 2), -1, order.dtype)
    np.copyto(wanted[1:, 0], order[:-1], where=inside)
    np.copyto(wanted[:-1, 1], order[1:], where=inside)
    found = fields["neighbors"].take(order, axis=0)
    same = np.array_equal(np.sort(found, axis=1), np.sort(wanted, axis=1))
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
    vertices = members[members >= 0]
    yield "members", f"hold {n} vertices", vertices.size == n
    met = np.zeros(n, bool)
    met[vertices] = True
    yield "members", f"hold each of the {n} vertices once", met.all()


def bands_end(fields: Fields, names: Names) -> Checks:
    """The first row is coupled to none before it, the last one to none after it."""
    yield "lower", "be 0 outside the matrix", not fields["lower"][:1].any()
    yield "upper", "be 0 outside the matrix", not fields["upper"][-1:].any()


def columns_ascend(fields: Fields, names: Names) -> Checks:
    indptr, indices = fields["indptr"], fields["indices"]
    ascending = indices[1:] > indices[:-1]
    starts = indptr[(indptr > 0) & (indptr < indices.size)]
    ascending[starts - 1] = True
    yield "indices", "ascend in each row", ascending.all()


def diagonal_is_stored(fields: Fields, names: Names) -> Checks:
    """The diagonal and the longest row are those of the CSR arrays."""
    indices, lengths = fields["indices"], np.diff(fields["indptr"])
    rows = np.repeat(np.arange(lengths.size, dtype=indices.dtype), lengths)
    on_diagonal = np.flatnonzero(indices == rows)
    diagonal = np.zeros(lengths.size, fields["data"].dtype)
    diagonal[indices[on_diagonal]] = fields["data"][on_diagonal]
    yield "diagonal", "be the diagonal of the matrix", np.array_equal(diagonal, fields["diagonal"])
    longest = int(lengths.max(initial=0))
    yield "longest_row", f"be {longest}", fields["longest_row"] == longest


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
        "slots": schema.Optional(schema.slots("n", 2, least=-1)),
        "path_id": schema.indices("n", below="n"),
        "position": schema.indices("n", least=1),
        "ordering": Nested(ORDERING, "n", "index"),
        "counts": schema.counts("counted"),
        "progress": schema.Either(schema.counts(2), schema.Items(int, bool)),
    },
    paths_follow_order,
    neighbors_follow_paths,
)

BLOCK_FOREST = RecordSpec(
    BlockForest,
    {
        "forest": Nested(FOREST, "index", n="blocks"),
        "members": schema.indices("places", least=-1, below="n"),
        "block_size": schema.Size("block_size"),
        "coverage": schema.Real(),
        "m": schema.ListOf(schema.Integer(1), 1, 1 + max(PAIRINGS.values())),
        "pairing": schema.OneOf("edges", "paths"),
    },
    blocks_hold_every_vertex,
)

BLOCK_BANDS, BANDS = (
    RecordSpec(Bands, dict.fromkeys(("lower", "diagonal", "upper"), schema.numbers(*shape)), bands_end)
    for shape in (("blocks", "block_size", "block_size"), ("n",))
)

MATRIX = RecordSpec(
    CheckedMatrix,
    {**schema.csr_arrays("n", "entries", below="n"), "diagonal": schema.numbers("n")},
    columns_ascend,
    diagonal_is_stored,
    name="CSR",  # in files
)
