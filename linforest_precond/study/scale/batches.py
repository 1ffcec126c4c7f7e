"""Matching rates by the number of batches and their bounds, and peak memory: figure 4.6 and table 4.4."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from linforest_precond.backends.array_libraries import on_host
from linforest_precond.backends.host_numbers import batch_ends
from linforest_precond.graph.matching.matching import match_graph, matching, tie_key_of
from linforest_precond.matrices.arrays import from_host
from linforest_precond.matrix.checked import CheckedMatrix, checked
from linforest_precond.matrix.graphs import Graph
from linforest_precond.study import timing
from linforest_precond.study.cases import Case
from linforest_precond.study.paper import Settings
from linforest_precond.study.results import JsonObject

BATCHES = (1, 2, 4, 8)
REPEATS = 5
# The methods that are timed on the whole graph, and their fields.
RESIDENT = {"locally_dominant": "whole", "suitor": "suitor", "augmented": "augmented"}
# The memory budget of a graph: its arrays of vertices, and this share of its entries.
GIVEN_SHARE = 1 / 8
# Buffers of the size of a batch: on the CPU one, and one for the remaining rows; on the GPU two, so that
# copies overlap with matching, and two for entries that stay: the remaining rows, or all of the graph.
BUFFERS = {"cpu": 2, "cuda": 4}
STAYING = 2
# Bytes of the copies that measure the link between the host and the GPU.
LINK_BYTES = 2**28


def batches(W: Any, case: Case, settings: Settings) -> JsonObject:
    """Seconds and rates (MMEPS, million matched edges per second) of locally dominant matching in batches.

    Beside them the ``whole`` graph on the device, ``suitor`` and ``augmented`` likewise, and ``resident``,
    the bytes of the arrays of all vertices, and ``size``, those of the entries. On the GPU, ``pinned`` are
    the seconds from pinned memory, ``link`` is the rate of copies from it in bytes per second, ``sent`` are
    the bytes that a matching copies, and ``bound`` is the rate if nothing but these copies took time.
    ``occupancy`` is the one that registers and shared memory allow the kernel of the whole graph.
    """
    device, on_gpu, graph = settings.device, settings.device == "cuda", checked(W).graph
    on_device = _on(device, W).graph
    whole = on_host(match_graph(on_device, "locally_dominant")[0])
    found: JsonObject = {
        "edges": edge_count(whole),
        "size": entry_bytes(W),
        "resident": vertex_bytes(W),
        **{key: _rated(partial(match_graph, on_device, name), device)[0] for name, key in RESIDENT.items()},
        "link": 1e9 * max(timing.upload_bandwidths(LINK_BYTES, REPEATS)) if on_gpu else None,
        "occupancy": occupancy(on_device) if on_gpu else None,
        "batched": {},
    }
    pinned = _pinned(graph) if on_gpu else None
    for count in BATCHES:
        row, mates, sent = _rated(_batched_call(graph, count, device), device)
        row |= {"largest_batch": largest_batch(graph, count), "same": bool((mates == whole).all())}
        row |= {"sent": sent, "bound": found["edges"] / (sent / found["link"]) / 1e6 if sent else None}
        if pinned:
            other, mates, _ = _rated(_batched_call(pinned, count, device), device)
            row |= {"pinned": other["seconds"], "same": row["same"] and bool((mates == whole).all())}
        found["batched"][str(count)] = row
    return found


def _on(device: str, W: Any) -> CheckedMatrix:
    """The matrix, or a copy of it on the GPU."""
    return checked(W if device == "cpu" else from_host(W, W.dtype, device, None))


def _pinned(graph: Graph) -> Graph:
    """The graph with copies of its arrays in pinned memory of the host."""
    from linforest_precond.backends.cuda.runtime.uploads import pinned_empty

    arrays = {}
    for name in ("indptr", "indices", "values"):
        source = getattr(graph, name)
        arrays[name] = pinned_empty(source.size, source.dtype)
        arrays[name][:] = source
    return replace(graph, **arrays)


def edge_count(mates: Any) -> int:
    return int((mates >= 0).sum()) // 2


def occupancy(graph: Any) -> float:
    """Resident threads of the matching kernel over the most that the device can hold."""
    import cupy

    from linforest_precond.backends.cuda.matching import best_edges, locally_dominant
    from linforest_precond.backends.cuda.runtime.launches import BLOCK, resident_blocks

    search = best_edges.Search(graph)
    kernel = locally_dominant.PROGRAM(**search.macros).match_dominant_edges
    device = cupy.cuda.Device().attributes
    most = device["MultiProcessorCount"] * device["MaxThreadsPerMultiProcessor"]
    return float(resident_blocks(kernel, search.shared_memory) * BLOCK / most)


def _rated(call: Callable[[], tuple[Any, Any]], device: str) -> tuple[JsonObject, Any, Any]:
    """Seconds and rate of a call that returns mates and something more, and these two."""
    seconds, (mates, more) = timing.median_time(call, REPEATS, device)
    return {"seconds": seconds, "mmeps": edge_count(mates) / seconds / 1e6}, mates, more


def _batched_call(graph: Graph, count: int, device: str) -> Callable[[], tuple[Any, int | None]]:
    """The matching of a graph on the host, streamed in batches to the GPU, or through a buffer."""
    key = tie_key_of(0)
    if device == "cuda":
        from linforest_precond.backends.cuda.matching import out_of_core_matching

        room = STAYING * largest_batch(graph, count)
        return lambda: out_of_core_matching.match_counted(graph, key, count, room)[::2]
    from linforest_precond.backends.cpu.matching import out_of_core_matching as through_files

    return lambda: (through_files.match(graph, key, count)[0], None)


def vertex_bytes(W: Any) -> int:
    """Bytes of the resident arrays of vertices: five indices, and the values of the result."""
    return int(2 * W.indptr.nbytes + W.shape[0] * (3 * W.indices.itemsize + W.data.itemsize))


def entry_bytes(W: Any) -> int:
    return int(W.indices.nbytes + W.data.nbytes)


def largest_batch(graph: Graph, count: int) -> int:
    """Bytes of the entries of the largest of `count` batches."""
    ends = batch_ends(graph.indptr, count)
    entries = np.diff(graph.indptr[ends], prepend=0)
    return int(entries.max(initial=0)) * (graph.indices.itemsize + graph.values.itemsize)


def memory(W: Any, case: Case, settings: Settings) -> JsonObject:
    """A graph larger than the memory that is given to it: peak of the memory that was used, and the result.

    On the host the graph is in memory-mapped files, and the peak is that of NumPy's allocations. With the GPU
    the graph is on the host, and the peak is that of CuPy's pool.
    """
    graph, room = checked(W).graph, int(GIVEN_SHARE * entry_bytes(W))
    count = fitting_batches(graph, room, BUFFERS[settings.device])
    peak, mates = _peak_on_gpu(graph, count) if settings.device == "cuda" else _peak_on_host(W, count)
    whole = on_host(match_graph(_on(settings.device, W).graph, "locally_dominant")[0])
    return {
        "graph": vertex_bytes(W) + entry_bytes(W),
        "given": vertex_bytes(W) + room,
        "batches": count,
        "peak": peak,
        "same": bool((mates == whole).all()),
    }


def fitting_batches(graph: Graph, room: int, buffers: int) -> int:
    """The fewest batches (a power of two) whose buffers fit, as far as the longest row allows."""
    count = 1
    while buffers * largest_batch(graph, count) > room and count < max(graph.n, 1):
        count *= 2
    return count


def _peak_on_host(W: Any, count: int) -> tuple[int, Any]:
    with tempfile.TemporaryDirectory() as folder:
        mapped = _mapped(W, Path(folder))
        matching(mapped, batches=count)  # compiles
        return timing.host_peak(lambda: matching(mapped, batches=count).mate)


def _mapped(W: Any, folder: Path) -> Any:
    """The matrix with its arrays in memory-mapped files."""
    arrays = []
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{name}.npy", getattr(W, name))
        arrays.append(np.load(folder / f"{name}.npy", mmap_mode="r"))
    return scipy.sparse.csr_array(tuple(arrays), shape=W.shape)


def _peak_on_gpu(graph: Graph, count: int) -> tuple[int, Any]:
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.total_bytes()
    mates = _batched_call(graph, count, "cuda")()[0]
    return int(pool.total_bytes() - before), mates
