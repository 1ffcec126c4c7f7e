"""Times of the packet analysis, beside SciPy's, by batches and by windows; traffic in files."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.graph.traffic.statistics import traffic_statistics
from linforest_precond.graph.traffic.traffic_files import read_traffic, write_traffic
from linforest_precond.graph.traffic.traffic_records import TrafficStatistics
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject
from linforest_precond.study.traffic.packets import Traffic

# Repeats of a call, of one with more than MANY packets, which is long.
REPEATS, FEW_REPEATS, MANY = 5, 2, 2**24
BATCHES = (1, 5, 10)
# The most packets for NumPy and SciPy, which are sequential, and for text files.
MOST_FOR_SCIPY = {"quick": 2**22, "full": 2**27}
MOST_IN_FILES = {"quick": 2**18, "full": 2**24}
# The shortest window, the factor from one length to the next, up to 2**27, and the most windows of a length:
# those of 2**17 of the challenge's 2**30 packets, and fewer of packets in memory.
SHORTEST_WINDOW, WINDOW_FACTOR, LONGEST_WINDOW, MOST_WINDOWS = 2**9, 4, 2**27, 2**13
FEW_WINDOWS = 2**11
# Bytes that one pass reads: 12 of a link, 8 of a source, and the sums of both ends, written and read.
LINK_BYTES, SOURCE_BYTES, END_BYTES = 12, 8, 32
WINDOW_FIELDS = ("unique_links", "unique_sources", "unique_destinations", "largest_fan_out", "largest_fan_in")


def analysis(A: Traffic, case: Case, settings: Settings) -> JsonObject:
    """The two tasks of section 3.6.1: analysis of a matrix that exists, and end to end, from packets.

    Streamed packets have the seconds of both together, with their generation.
    """
    if A.is_streamed:
        taken, whole = A.streamed
        times = {"analysis": None, "end_to_end": taken}
        return {"statistics": whole.as_dict(), "bytes": bytes_of(whole), "seconds": times, "same": None}
    found = traffic_statistics(A.matrix)
    least = partial(timing.least_time, repeats=repeats_of(A), device=settings.device)
    seconds = {
        "analysis": least(lambda: traffic_statistics(A.matrix))[0],
        "end_to_end": least(lambda: traffic_statistics(A.links))[0],
    }
    same = None
    if A.count <= MOST_FOR_SCIPY[settings.mode]:
        building, B = timing.time_of(partial(scipy_matrix, *map(on_host_or_none, A.links)), "cpu")
        seconds["scipy_analysis"], theirs = timing.time_of(partial(scipy_statistics, B), "cpu")
        seconds["scipy_end_to_end"] = building + seconds["scipy_analysis"]
        same = theirs == tuple(found.as_dict().values())
    return {"statistics": found.as_dict(), "bytes": bytes_of(found), "seconds": seconds, "same": same}


def repeats_of(A: Traffic) -> int:
    return FEW_REPEATS if A.count > MANY else REPEATS


def on_host_or_none(array: Any) -> Any:
    return None if array is None else on_host(array)


def bytes_of(found: TrafficStatistics) -> int:
    """The least bytes that one pass over the matrix moves."""
    ends = found.unique_sources + found.unique_destinations
    return LINK_BYTES * found.unique_links + SOURCE_BYTES * found.unique_sources + END_BYTES * ends


def scipy_matrix(sources: Any, destinations: Any, packets: Any = None) -> Any:
    """The traffic matrix by NumPy and SciPy."""
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in (sources, destinations))
    values = np.ones(rows.size, np.int64) if packets is None else packets.astype(np.int64)
    return sp.coo_array((values, (rows, columns))).tocsr()


def scipy_statistics(A: Any) -> tuple[int, ...]:
    """The nine properties of a canonical CSR matrix without zeros."""
    sides = (A.sum(axis=1), np.diff(A.indptr)), (A.sum(axis=0), np.bincount(A.indices))
    ends = [(np.count_nonzero(fan), packets.max(), fan.max()) for packets, fan in sides]
    return tuple(int(x) for x in (A.sum(), A.nnz, A.data.max(), *ends[0], *ends[1]))


def batches(A: Traffic, case: Case, settings: Settings) -> JsonObject:
    """Seconds end to end from arrays of the host, by the number of batches (figure 3.6)."""
    if A.is_streamed:
        return dict.fromkeys(map(str, BATCHES))
    host = tuple(map(on_host_or_none, A.links))

    def seconds(count: int) -> float:
        call = partial(traffic_statistics, host, batches=count, device=settings.device)
        return timing.least_time(call, repeats_of(A), settings.device)[0]

    return {str(count): seconds(count) for count in BATCHES}


def windows(A: Traffic, case: Case, settings: Settings) -> JsonObject:
    """The packets in consecutive windows of equal lengths, as they would be captured."""
    found, length = [], SHORTEST_WINDOW
    most = MOST_WINDOWS if A.is_streamed else FEW_WINDOWS
    while length <= min(A.count, LONGEST_WINDOW):
        if A.count <= most * length:
            found.append(_of_windows(A, length, settings.device))
        length *= WINDOW_FACTOR
    if A.is_streamed:
        return {"sizes": found, "same": None}
    shortest = found[0]["packets"] if found else SHORTEST_WINDOW
    return {"sizes": found, "same": traffic_statistics(A.windows(shortest)) == traffic_statistics(A.matrix)}


def _of_windows(A: Traffic, length: int, device: str) -> JsonObject:
    """Times and means over the windows of a length."""
    timed = [timing.time_of(partial(traffic_statistics, window), device) for window in A.windows(length)]
    means = {name: float(np.mean([getattr(one, name) for _, one in timed])) for name in WINDOW_FIELDS}
    seconds = sum(taken for taken, _ in timed)
    return {"packets": length, "windows": len(timed), "seconds": seconds, **means}


def files(A: Traffic, case: Case, settings: Settings) -> JsonObject:
    """Bytes and seconds of a GraphBLAS-style Matrix Market file, and whether its statistics are the same."""
    if A.count > MOST_IN_FILES[settings.mode]:
        return {"bytes": None, "write": None, "read": None, "same": None}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traffic.mtx"
        writing = timing.time_of(lambda: write_traffic(path, A.matrix), settings.device)[0]
        reading, found = timing.time_of(lambda: read_traffic(path), "cpu")
        same = traffic_statistics(found) == traffic_statistics(A.matrix)
        return {"bytes": path.stat().st_size, "write": writing, "read": reading, "same": same}
