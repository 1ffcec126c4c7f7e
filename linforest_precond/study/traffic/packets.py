"""The packets of the study: synthetic ones, those of a file, and the entries of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from linforest_precond.graph.traffic.statistics import traffic_statistics
from linforest_precond.graph.traffic.traffic_files import read_traffic
from linforest_precond.graph.traffic.traffic_inputs import links_of, triplets
from linforest_precond.graph.traffic.traffic_matrix import traffic_matrix
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix, TrafficStatistics
from linforest_precond.matrices.arrays import array_modules
from linforest_precond.matrices.generators.network_packets import packets
from linforest_precond.study import timing
from linforest_precond.study.cases import Case, Missing, Source, size_fields
from linforest_precond.study.results import JsonObject

KIND = "packets"
PAPER_SCALE = 30
# More than 2**MOST_AT_ONCE synthetic packets are generated in windows of 2**MOST_IN_WINDOW.
MOST_AT_ONCE, MOST_IN_WINDOW = 28, 27
Links = tuple[Any, ...]  # sources, destinations and packets; None for one packet each


@dataclass(frozen=True)
class Traffic:
    """Given links of packets on a device, or 2**scale synthetic ones, generated when they are asked for."""

    given: Links = ()
    scale: int | None = None
    device: str = "cpu"

    @property
    def count(self) -> int:
        return 1 << self.scale if self.scale is not None else self.links[0].size

    @property
    def is_streamed(self) -> bool:
        """Whether the packets are generated in windows, never as a whole."""
        return self.scale is not None and self.scale > MOST_AT_ONCE

    @cached_property
    def links(self) -> Links:
        return self.given if self.scale is None else self._generated(0, self.count)

    @cached_property
    def matrix(self) -> TrafficMatrix:
        return traffic_matrix(*self.links)

    @cached_property
    def streamed(self) -> tuple[float, TrafficStatistics]:
        """Seconds to generate and analyse the packets in windows, and the statistics of all of them."""
        return timing.time_of(lambda: traffic_statistics(self.windows(2**MOST_IN_WINDOW)), self.device)

    def windows(self, length: int) -> Iterator[Links]:
        """Consecutive windows of a power of two packets; the last one of given links may be shorter."""
        for begin in range(0, self.count, length):
            if self.is_streamed:
                yield self._generated(begin, length)
            else:
                yield tuple(None if each is None else each[begin : begin + length] for each in self.links)

    def _generated(self, begin: int, count: int) -> Links:
        return (*packets(count.bit_length() - 1, first=begin, device=self.device), None)


def scale_of(name: str) -> int | None:
    """The power of two in the name of synthetic packets; None for other names."""
    kind, _, scale = name.partition(":")
    return int(scale) if kind == KIND and scale.isdecimal() else None


def own_case(name: str, full: bool) -> Case | None:
    """The case of synthetic packets: "packets:K" are 2**K of them."""
    scale = scale_of(name)
    if scale is None:
        return None
    whole = scale == PAPER_SCALE
    return Case(
        name, f"2^{scale} packets", "generated", paper=f"2^{PAPER_SCALE} packets", at_paper_size=whole
    )


def fetch(source: Source, case: Case) -> tuple[Case, Traffic]:
    """The packets on the source's device; those of a matrix are the magnitudes of its entries."""
    xp, _ = array_modules(source.device)
    scale = scale_of(case.name)
    if scale is not None:
        return case, Traffic(scale=scale, device=source.device)
    if case.origin == "file":
        if not Path(case.name).exists():
            raise Missing(f"{case.name} does not exist")
        return case, Traffic(tuple(map(xp.asarray, links_of(read_traffic(case.name)))))
    found, A = source.fetch(case)
    return found, Traffic(triplets(abs(A)))


def properties(A: Traffic) -> JsonObject:
    """Sources as rows, and links."""
    if A.is_streamed:
        found = A.streamed[1]
        return size_fields(found.unique_sources, found.unique_links, None)
    return size_fields(A.matrix.shape[0], A.matrix.nnz, None)
