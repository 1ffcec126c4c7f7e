"""The packets of the study: synthetic ones, those of a file, and the entries of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from linforest_precond.graph.traffic.traffic_files import read_traffic
from linforest_precond.graph.traffic.traffic_inputs import links_of, triplets
from linforest_precond.graph.traffic.traffic_matrix import traffic_matrix
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix
from linforest_precond.matrices.arrays import array_modules
from linforest_precond.matrices.generators.network_packets import packets
from linforest_precond.study.cases import Case, Missing, Source, size_fields
from linforest_precond.study.results import JsonObject

KIND = "packets"
PAPER_SCALE = 30


@dataclass(frozen=True)
class Traffic:
    """Sources, destinations and packets (None: one each) on a device."""

    links: tuple[Any, ...]

    @cached_property
    def matrix(self) -> TrafficMatrix:
        return traffic_matrix(*self.links)


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
        return case, Traffic((*packets(scale, device=source.device), None))
    if case.origin == "file":
        if not Path(case.name).exists():
            raise Missing(f"{case.name} does not exist")
        return case, Traffic(tuple(map(xp.asarray, links_of(read_traffic(case.name)))))
    found, A = source.fetch(case)
    return found, Traffic(triplets(abs(A)))


def properties(A: Traffic) -> JsonObject:
    """Sources as rows, and links."""
    return size_fields(A.matrix.shape[0], A.matrix.nnz, None)
