"""Times of the stages of a setup: figures 3, 5 and 6 of the paper."""

from __future__ import annotations

from typing import Any

from linforest_precond.backends.array_libraries import device_name
from linforest_precond.study.forests import device_performance, host_performance
from linforest_precond.study.results import JsonObject


def performance(A: Any, *, charge: str = "md5", ties: str = "index") -> JsonObject:
    """Times of the steps from a matrix to its factored bands, medians of several runs.

    Everything is measured in two ways with the same result: ``paper``, with Algorithm 3 (bidirectional scan),
    a radix sort, and the given charges and ties; ``ours``, with list ranking, a prefix sum, and the library's
    defaults. On the GPU propositions are timed in single precision, as in the paper, and in double precision,
    the rest in single precision; on the CPU all is in double precision.

    The product d = A x + d is timed by cuSPARSE, and under "srcsr" by segmented reduction, the paper's own
    baseline. On the CPU, A x is timed by SciPy alone.

    Throughputs are counted as in the paper: by the buffers that a kernel has to read and write, each once
    (table 2 for propositions). After the first one (k = 0), our propositions skip the rows of vertices
    without free edges, so that they can exceed the bandwidth of a copy: ``vertices`` says how many are left.
    """
    ways: dict[str, JsonObject] = {
        "paper": {"charge": charge, "ties": ties, "method": "bidirectional_scan", "sorting": "radix_sort"},
        "ours": {},
    }
    times = device_performance if device_name(A) == "cuda" else host_performance
    found: JsonObject = times.measured(A, ways)
    stages = found.pop("stages")
    return {
        **found,
        "setups": {
            way: [{"stage": stage, "seconds": seconds} for stage, seconds in parts.items()]
            for way, parts in stages.items()
        },
        "setup_seconds": {way: sum(parts.values()) for way, parts in stages.items()},
    }
