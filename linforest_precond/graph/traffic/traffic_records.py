"""Records of traffic matrices: the matrix with its addresses, and the aggregate properties."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linforest_precond.backends import OnBackend
from linforest_precond.backends.annotations import Array
from linforest_precond.matrix.conversion import csr
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False, repr=False)
class TrafficMatrix(OnBackend, ReadOnlyArrays, Printed):
    """A hypersparse traffic matrix: CSR over the addresses that occur, which are numbered in their order.

    Attributes
    ----------
    sources, destinations : arrays of uint32
        The address of each row and of each column, sorted.
    indptr : array of int64
        Where the links of each source begin; one more than sources.
    indices : array of int32 or int64
        The column of each link; sorted within each row, without duplicates.
    packets : array of int64
        The packets of each link; at least 1.
    """

    sources: Array
    destinations: Array
    indptr: Array
    indices: Array
    packets: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of sources and destinations."""
        return self.sources.size, self.destinations.size

    @property
    def nnz(self) -> int:
        """Number of links."""
        return self.indices.size

    def tocsr(self) -> Any:
        """Give the matrix of packets without the addresses: rows and columns are numbers of addresses.

        Returns
        -------
        csr_array or csr_matrix
            Of SciPy with int64 values. CuPy has no sparse matrices of integers: there float64.

        Raises
        ------
        ValueError
            On the GPU, if a link has more packets than float64 holds exactly.
        """
        values = self.backend.csgraph.traffic.as_matrix_values(self.packets)
        index = np.dtype(np.int64) if self.nnz >= 2**31 else self.indices.dtype
        arrays = values, self.indices.astype(index), self.indptr.astype(index)
        return csr(self.backend.sparse, *arrays, self.shape)

    def _printout(self) -> Printout:
        return Printout.of(
            "traffic matrix",
            ("sources", f"{self.shape[0]:,}"),
            ("destinations", f"{self.shape[1]:,}"),
            ("links", f"{self.nnz:,}"),
        )


@dataclass(frozen=True)
class TrafficStatistics(Printed):
    """The aggregate properties of a traffic matrix, exact integers.

    Attributes
    ----------
    valid_packets : int
        All packets: the sum of the entries.
    unique_links : int
        Pairs of a source and a destination with packets: the nonzero entries.
    largest_link : int
        The most packets of one link.
    unique_sources, unique_destinations : int
        Addresses that sent packets, and that received some.
    largest_source, largest_destination : int
        The most packets that one address sent, and received.
    largest_fan_out, largest_fan_in : int
        The most destinations of one source, and the most sources of one destination.
    """

    valid_packets: int
    unique_links: int
    largest_link: int
    unique_sources: int
    largest_source: int
    largest_fan_out: int
    unique_destinations: int
    largest_destination: int
    largest_fan_in: int

    def as_dict(self) -> dict[str, int]:
        """The properties by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _printout(self) -> Printout:
        rows = ((name.replace("_", " "), f"{value:,}") for name, value in self.as_dict().items())
        return Printout.of("traffic statistics", *rows)
