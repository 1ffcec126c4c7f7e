"""`traffic_matrix` merges the packets of each link, and numbers the addresses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.traffic.packet_checks import (
    as_addresses,
    as_packet_counts,
    check_same_lengths,
    check_total,
    total_packets,
)
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix

# Backends sort words of an address and the place of a link, 32 bits each.
MOST_LINKS = 2**32


@named_arguments
def traffic_matrix(
    sources: npt.ArrayLike, destinations: npt.ArrayLike, packets: npt.ArrayLike | None = None
) -> TrafficMatrix:
    """Build the traffic matrix of packets: entry (i, j) is the number of packets from i to j.

    The matrix of all IPv4 addresses has 2**32 rows and columns, of which few are used: the addresses that
    occur are numbered in their order, and kept.

    Parameters
    ----------
    sources, destinations : 1-D arrays
        Addresses: integers in [0, 2**32), or IPv4 addresses as text. Arrays of CuPy work on the GPU.
    packets : 1-D array of integers, optional
        The number of packets of each record; by default 1. Records of 0 packets are no links.

    Returns
    -------
    TrafficMatrix
        On the device of the addresses. The records of a link are added.

    Raises
    ------
    ValueError
        For arrays of different lengths, addresses out of range, negative numbers and fractions, and sums
        that exceed int64.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> A = lf.graph.traffic_matrix(["10.0.0.1", "10.0.0.1", "10.0.0.9"], ["192.0.2.7"] * 3, [2, 3, 1])
    >>> A.sources.tolist(), A.tocsr().toarray().tolist()
    ([167772161, 167772169], [[5], [1]])
    >>> print(A)
    traffic matrix
      sources       2
      destinations  1
      links         2
    """
    backend = backend_of(sources)
    links = MergedLinks(backend)
    links.add(sources, destinations, packets)
    return links.matrix()


class MergedLinks:
    """The sum of many pieces of traffic, as sorted links.

    Sizes at least double from each run of links to the one before (a log-structured merge), so that every
    link is sorted a logarithmic number of times, and no more than the different links of two pieces are kept
    twice.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._runs: list[tuple[Array, Array]] = []
        self._total = 0

    def add(self, sources: Any, destinations: Any, packets: Any = None) -> None:
        xp, traffic = self._backend.xp, self._backend.csgraph.traffic
        sources = as_addresses("sources", sources, xp)
        destinations = as_addresses("destinations", destinations, xp)
        packets = as_packet_counts("packets", packets, xp)
        check_same_lengths(sources=sources, destinations=destinations, packets=packets)
        self._total += sources.size if packets is None else total_packets(packets)
        check_total(self._total)
        keys = traffic.pack_addresses(sources, destinations)
        if packets is not None and not packets.all():  # stall: one number
            keys, packets = keys[packets > 0], packets[packets > 0]
        self._runs.append(traffic.merge_links(keys, packets))
        while len(self._runs) > 1 and self._runs[-2][0].size < 2 * self._runs[-1][0].size:
            self._merge_last()

    def _merge_last(self) -> None:
        last, before = self._runs.pop(), self._runs.pop()
        keys, packets = (self._backend.xp.concatenate(pair) for pair in zip(before, last, strict=True))
        self._runs.append(self._backend.csgraph.traffic.merge_links(keys, packets))

    def matrix(self) -> TrafficMatrix:
        if not self._runs:
            self.add(*np.zeros((2, 0), np.uint32))
        while len(self._runs) > 1:
            self._merge_last()
        keys, packets = self._runs[0]
        if keys.size > MOST_LINKS:
            raise ValueError(f"traffic must have at most 2**32 different links, got {keys.size}; split it")
        sources, indptr, destinations, indices = self._backend.csgraph.traffic.number_addresses(keys)
        return TrafficMatrix(sources, destinations, indptr, indices, packets)


def merged(pieces: Iterable[tuple[Any, ...]], backend: Backend) -> TrafficMatrix:
    """The traffic matrix of all pieces, one after the other."""
    links = MergedLinks(backend)
    for piece in pieces:
        links.add(*piece)
    return links.matrix()
