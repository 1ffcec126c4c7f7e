"""Traffic matrices are stored as Matrix Market files, whose rows and columns are addresses."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from linforest_precond.backends import backend_named
from linforest_precond.backends.arguments import as_path
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.graph.traffic.packet_checks import ADDRESSES
from linforest_precond.graph.traffic.traffic_inputs import links_of, pieces_of
from linforest_precond.graph.traffic.traffic_matrix import merged
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix
from linforest_precond.matrices.readers.atomic_files import replacing

SUFFIX = ".mtx"
# The comment by which SuiteSparse:GraphBLAS' tools tell the type of the entries.
GRAPHBLAS_TYPE = "%GraphBLAS type int64_t"


@named_arguments
def write_traffic(path: str | os.PathLike[str], A: TrafficMatrix) -> Path:
    """
    Write a traffic matrix as a Matrix Market file, in which rows and columns are addresses.

    The matrix has 2**32 rows and columns, as the GraphBLAS matrices of the Anonymized Network Sensing Graph
    Challenge: entry (i + 1, j + 1) is the number of packets from address i to address j.

    Parameters
    ----------
    path : str or path-like
        Ends with .mtx. The file is replaced when it is complete.
    A : TrafficMatrix
        On any device.

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import linforest_precond as lf
    >>> A = lf.graph.traffic_matrix(["10.0.0.1", "10.0.0.9"], ["192.0.2.7"] * 2, [2, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = lf.graph.write_traffic(pathlib.Path(folder, "window.mtx"), A)
    ...     print(path.read_text().splitlines()[-1], lf.graph.read_traffic(path).packets.tolist())
    167772170 3221225992 1 [2, 1]
    """
    target = Path(as_path("path", path))
    if target.suffix.lower() != SUFFIX:
        raise ValueError(f"path must end with {SUFFIX}, got {target.name!r}")
    if not isinstance(A, TrafficMatrix):
        raise TypeError(f"A must be a TrafficMatrix, as traffic_matrix gives, got {type(A).__name__}")
    sources, destinations, packets = (on_host(each) for each in links_of(A))
    entries = sp.coo_array(
        (packets, (sources.astype(np.int64), destinations.astype(np.int64))), shape=(ADDRESSES, ADDRESSES)
    )
    with replacing(target) as temporary:
        scipy.io.mmwrite(temporary, entries, comment=GRAPHBLAS_TYPE, field="integer", symmetry="general")
    return target


@named_arguments
def read_traffic(path: str | os.PathLike[str]) -> TrafficMatrix:
    """
    Read a traffic matrix, or packets, from a file.

    Parameters
    ----------
    path : str or path-like
        All that `traffic_statistics` reads: Matrix Market files of up to 2**32 rows and columns, whose
        numbers are addresses plus 1; .csv, .tsv, .txt, .npy and .npz files of packets; other matrices.

    Returns
    -------
    TrafficMatrix
        On the CPU.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import linforest_precond as lf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "packets.csv")
    ...     _ = path.write_text("10.0.0.1,192.0.2.7\\n10.0.0.1,192.0.2.7\\n", encoding="utf-8")
    ...     lf.graph.read_traffic(path).packets.tolist()
    [2]
    """
    return merged(pieces_of(Path(as_path("path", path)), None), backend_named("cpu"))
