"""`traffic_statistics` computes the aggregate properties of a traffic matrix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from linforest_precond.backends import Backend, backend_named, backend_of
from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import as_integer
from linforest_precond.backends.returns import TrafficScan
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.traffic.packet_checks import check_total
from linforest_precond.graph.traffic.traffic_inputs import (
    bounds,
    check_shape,
    compressed,
    is_sparse,
    pieces_of,
)
from linforest_precond.graph.traffic.traffic_matrix import merged
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix, TrafficStatistics
from linforest_precond.matrices.arrays import Device, array_modules
from linforest_precond.records.progress import showing

# Value types that the scan reads without conversion.
VALUE_DTYPES = tuple(map(np.dtype, (np.int64, np.float32, np.float64)))

# Sums of all columns are not allocated where there are this many times as many columns as entries.
HYPERSPARSE, FEW_COLUMNS = 16, 2**16


@named_arguments
def traffic_statistics(
    A: Any, *, batches: int | None = None, device: Device = None, progress: bool = False
) -> TrafficStatistics:
    """Compute the aggregate properties of a traffic matrix: packets, links, sources and destinations.

    A(i, j) is the number of packets from source i to destination j. A matrix in CSR or CSC format, or from
    `traffic_matrix`, is read once. All else is merged to one first. All results are exact, and both backends
    give the same.

    Parameters
    ----------
    A : matrix, packets, file, or an iterable of these
        - A `TrafficMatrix`, a sparse matrix or a dense array of SciPy, NumPy or CuPy, of any shape up to
          2**32 x 2**32. The values are whole numbers (of any type) that are not negative. Zeros are no links,
          and duplicates are added.
        - A tuple ``(sources, destinations)`` or ``(sources, destinations, packets)`` of 1-D arrays, as
          `traffic_matrix` takes them.
        - The path of a file: .csv, .tsv or .txt with lines of a source, a destination and optionally packets;
          .npy with these columns; .npz with arrays of these names; or a matrix in a file that
          `linforest_precond.matrices.load` reads.
        - An iterable of such: the statistics are those of the sum. It is read once, one item at a time, so
          that a generator may give more packets than the memory holds. What is kept are the different links,
          16 bytes for each, and the same again while they are merged.
    batches : int, optional
        Pieces that each matrix, tuple or .npy file on the host is cut into, which are processed one after the
        other. By default pieces of 2**26 entries; arrays on the GPU are one piece. The result does not
        depend on it.
    device : {None, "cpu", "cuda"}
        "cuda" streams data of the host through the GPU. None works where the first data are.
    progress : bool
        Whether to show the number of pieces that are done, where tqdm is installed.

    Returns
    -------
    TrafficStatistics
        Nine integers; `print` shows a table.

    Raises
    ------
    ValueError
        For negative numbers of packets and fractions, addresses out of range, arrays of different lengths,
        and packets whose sum exceeds int64.

    References
    ----------
    M. Mandulak, S. Ghosh, S. M. Ferdous, M. Halappanavar, G. Slota, "Anonymized Network Sensing Using C++26
    std::execution on GPUs" (2025), table of the packet analysis measures of the Anonymized Network Sensing
    Graph Challenge.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> print(lf.graph.traffic_statistics(np.array([[0, 2, 5], [0, 1, 0]])))
    traffic statistics
      valid packets        8
      unique links         3
      largest link         5
      unique sources       2
      largest source       7
      largest fan out      2
      unique destinations  2
      largest destination  5
      largest fan in       2
    >>> windows = (lf.matrices.packets(10, seed=seed) for seed in range(4))
    >>> lf.graph.traffic_statistics(windows).valid_packets
    4096
    """
    if batches is not None:
        as_integer("batches", batches, 1)
    array_modules(device)  # raises for an unusable device before any work
    if isinstance(A, TrafficMatrix):
        return _statistics_of(A, batches, device)
    if is_sparse(A) and A.format in ("csr", "csc") and (found := _of_compressed(A, batches, device)):
        return found
    pieces = pieces_of(A, batches)
    first = next(pieces, ((), ()))
    backend = _backend(first[0], device)
    return _statistics_of(
        merged(_shown(itertools.chain([first], pieces), progress), backend), batches, device
    )


def _statistics_of(A: TrafficMatrix, batches: int | None, device: Device) -> TrafficStatistics:
    scan = _scan(A.indptr, A.indices, A.packets, A.shape[1], batches, device)
    check_total(scan.packets)
    return _from_scan(scan)


def _of_compressed(A: Any, batches: int | None, device: Device) -> TrafficStatistics | None:
    """The statistics of a CSR or CSC matrix; None if its entries have to be sorted and numbered before."""
    check_shape(A)
    backend = _backend(A, None)
    width = A.shape[1] if A.format == "csr" else A.shape[0]
    if width > HYPERSPARSE * (A.indices.size + FEW_COLUMNS):
        return None
    indptr, values = compressed(A, backend), _as_values(A.data)
    indices = A.indices if A.indices.dtype in (np.int32, np.int64) else A.indices.astype(np.int64)
    scan = _scan(indptr, indices, values, width, batches, device)
    _check(A, scan, indptr, backend)
    if not scan.sorted:
        return None
    check_total(scan.packets)
    if A.format == "csc":
        scan = scan._replace(sources=scan.destinations, destinations=scan.sources)
    return _from_scan(scan)


def _as_values(values: Array) -> Array:
    """Values of a type that the pass takes."""
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise TypeError(f"A must hold whole numbers of packets, got {values.dtype}")
    if values.dtype in VALUE_DTYPES:
        return values
    # A number of uint64 beyond int64 becomes negative, and is refused.
    return values.astype(np.float32 if values.dtype.kind == "f" else np.int64)


def _scan(
    indptr: Array, indices: Array, values: Array, width: int, batches: int | None, device: Device
) -> TrafficScan:
    backend = _backend(values, device)
    pieces = bounds(indices.size, batches, values)
    return backend.csgraph.traffic.scan_links(indptr, indices, values, width, pieces)


def _check(A: Any, scan: TrafficScan, indptr: Array, backend: Backend) -> None:
    """Raise the exception for what a pass over a CSR or CSC matrix found."""
    slot = max(scan.first_out_of_range, scan.first_invalid)
    if slot < 0:
        return
    major, minor = int(backend.matrix.entries.row_of(indptr, slot)), int(A.indices[slot])
    place = (major, minor) if A.format == "csr" else (minor, major)
    if scan.first_out_of_range >= 0:
        raise ValueError(f"the indices of A must lie in its shape {tuple(A.shape)}, got {place}")
    raise ValueError(
        f"A must hold whole numbers of packets in [0, 2**63), got {A.data[slot].item()} at {place}"
    )


def _from_scan(scan: TrafficScan) -> TrafficStatistics:
    return TrafficStatistics(scan.packets, scan.links, scan.largest_link, *scan.sources, *scan.destinations)


def _backend(array: Any, device: Device) -> Backend:
    """The backend of a device, by default of an array."""
    own = backend_of(array)
    wanted = own if device is None else backend_named(device)
    if own not in (wanted, backend_named("cpu")):
        raise TypeError('A is on the GPU, and device="cpu" asks for the CPU; pass arrays of NumPy')
    return wanted


def _shown(pieces: Iterable[Any], wanted: bool) -> Iterator[Any]:
    """The pieces, counted by a progress bar."""
    with showing(None, wanted, "traffic", "piece") as bar:
        for piece in pieces:
            yield piece
            bar.advance()
