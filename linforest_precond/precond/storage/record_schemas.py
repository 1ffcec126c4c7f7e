"""Schemas of the records that preconditioners hold: orderings, forests, bands and matrices."""

from __future__ import annotations

import numpy as np

from linforest_precond.graph.forest.pairs import PAIRINGS
from linforest_precond.precond.storage.schema import (
    Choice,
    Complaint,
    Fields,
    Flag,
    Integer,
    Items,
    ListOf,
    Names,
    OneOf,
    Optional,
    Real,
    Record,
    Size,
    Table,
)
from linforest_precond.precond.storage.schema_arrays import Counts, Indices, Numbers, Pointers


def rank_inverts_order(fields: Fields, names: Names) -> Complaint:
    """`order` is then a permutation: no number occurs twice in it."""
    order, rank = fields["order"], fields["rank"]
    if not np.array_equal(rank[order], np.arange(order.size)):
        return "rank", "be the inverse of the permutation in order"
    return None


def paths_follow_order(fields: Fields, names: Names) -> Complaint:
    """Sorted by path id and position, each path begins with its lower end, which is its id, at position 1."""
    order = fields["ordering"]["order"]
    path, position = fields["path_id"][order], fields["position"][order]
    starts = position == 1
    again = ~starts
    if order.size and again[0]:
        return "position", "be 1 where a path begins"
    if (position[1:][again[1:]] != position[:-1][again[1:]] + 1).any():
        return "position", "count from 1 along each path"
    if not np.array_equal(path[starts], order[starts]) or (np.diff(path) < 0).any():
        return "path_id", "be the first vertex of each path, and ascend in the order"
    if (path[1:][again[1:]] != path[:-1][again[1:]]).any():
        return "path_id", "be the same along a path"
    paths, longest = int(starts.sum()), int(position.max(initial=0))
    found = fields["counts"][:3].tolist()
    if found[:2] != [paths, longest] or len(found) < 3 or found[2] > order.size:
        return "counts", f"be {paths} paths, {longest} vertices of the longest, and the cycles broken"
    return None


def neighbors_follow_paths(fields: Fields, names: Names) -> Complaint:
    """The neighbours of a vertex are those before and after it on its path, in any order."""
    order, neighbors = fields["ordering"]["order"], fields["neighbors"]
    inside = fields["position"][order[1:]] > 1
    before, after = np.full((2, order.size), -1, order.dtype)
    np.copyto(before[1:], order[:-1], where=inside)
    np.copyto(after[:-1], order[1:], where=inside)
    first, second = neighbors.take(order, axis=0).T
    if all(np.array_equal(pick(first, second), pick(before, after)) for pick in (np.maximum, np.minimum)):
        return None
    return "neighbors", "be the vertices before and after each on its path"


def blocks_hold_every_vertex(fields: Fields, names: Names) -> Complaint:
    """Once each; ghosts fill up blocks that begin with a vertex."""
    size, members = fields["block_size"], fields["members"]
    if size not in PAIRINGS or len(fields["m"]) != PAIRINGS[size] + 1:
        return (
            "block_size",
            f"be one of {', '.join(map(str, PAIRINGS))}, with an m for each pairing and the paths",
        )
    if members.size != names["blocks"] * size:
        return "members", f"hold {size} vertices for each of the {names['blocks']} blocks"
    if (members[::size] < 0).any():
        return "members", "have no ghost in front of a block"
    vertices = members[members >= 0]
    met = np.zeros(names["n"], bool)
    met[vertices] = True
    if vertices.size != names["n"] or not met.all():
        return "members", f"hold each of the {names['n']} vertices once"
    return None


def bands_end(fields: Fields, names: Names) -> Complaint:
    """The first row is coupled to none before it, the last one to none after it."""
    for name, end in (("lower", slice(0, 1)), ("upper", slice(-1, None))):
        if fields[name][end].any():
            return name, "be 0 outside the matrix"
    return None


def columns_ascend(fields: Fields, names: Names) -> Complaint:
    indptr, indices = fields["indptr"], fields["indices"]
    ascending = indices[1:] > indices[:-1]
    starts = indptr[(indptr > 0) & (indptr < indices.size)]
    ascending[starts - 1] = True
    return None if ascending.all() else ("indices", "ascend in each row")


def diagonal_is_stored(fields: Fields, names: Names) -> Complaint:
    """The diagonal and the longest row are those of the CSR arrays."""
    indptr, indices = fields["indptr"], fields["indices"]
    lengths = np.diff(indptr)
    rows = np.repeat(np.arange(lengths.size, dtype=indices.dtype), lengths)
    on_diagonal = np.flatnonzero(indices == rows)
    diagonal = np.zeros(lengths.size, fields["data"].dtype)
    diagonal[indices[on_diagonal]] = fields["data"][on_diagonal]
    if not np.array_equal(diagonal, fields["diagonal"]):
        return "diagonal", "be the diagonal of the matrix"
    longest = int(lengths.max(initial=0))
    return None if fields["longest_row"] == longest else ("longest_row", f"be {longest}")


ORDERING = Table(
    {"order": Indices("n", below="n"), "rank": Indices("n", below="n")},
    rank_inverts_order,
)

FOREST = Table(
    {
        "neighbors": Indices("n", 2, least=-1, below="n"),
        "values": Numbers("n", 2, real=True),
        "slots": Optional(Indices("n", 2, least=-1, dtype="slot")),
        "path_id": Indices("n", below="n"),
        "position": Indices("n", least=1, most="n"),
        "ordering": Record("Ordering", ORDERING, n="n", index="index"),
        "counts": Counts("counted"),
        "progress": OneOf(Counts(2), Items(Integer(), Flag())),
        "total_weight": Real(0.0),
        "scale": Real(0.0),
    },
    paths_follow_order,
    neighbors_follow_paths,
)

BLOCK_FOREST = Table(
    {
        "forest": Record("Forest", FOREST, n="blocks", index="index"),
        "members": Indices("places", least=-1, below="n"),
        "block_size": Size("block_size"),
        "coverage": Real(),
        "m": ListOf(Integer(1), 1, 1 + max(PAIRINGS.values())),
        "pairing": Choice("edges", "paths"),
    },
    blocks_hold_every_vertex,
)

BANDS = Table({name: Numbers("n") for name in ("lower", "diagonal", "upper")}, bands_end)
BLOCK_BANDS = Table(
    {name: Numbers("blocks", "block_size", "block_size") for name in ("lower", "diagonal", "upper")},
    bands_end,
)

CSR = Table(
    {
        "data": Numbers("entries"),
        "indptr": Pointers("n", "entries"),
        "indices": Indices("entries", below="n"),
        "symmetric": Flag(),
        "total_weight": Real(0.0),
        "adjacent_weight": Real(0.0),
        "diagonal": Numbers("n"),
        "longest_row": Integer(),
        "scale": Real(0.0),
    },
    columns_ascend,
    diagonal_is_stored,
)
