"""Fuzzy set joins: time, recall and precision of approximate matchings against exact ones.

    python -m benchmarks.pages.joins [--device cpu|cuda] [--sets N] [--only NAME ...] [--out FILE]
    python -m benchmarks.pages.joins --large [--device cpu|cuda]
    python -m benchmarks.pages.joins --write

The first form measures, and adds to benchmarks/results/joins.jsonl; so does the second, one join of 100,000
sets on all threads; the third writes docs/papers/joins.md from what is stored there. Sets are generated, with
as many elements on average as those of the thesis.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
import tracemalloc
from pathlib import Path

import numba

from benchmarks.measures import provenance
from linforest_precond.similarity import fuzzy_join, join_quality, noisy_sets, set_join

STORED = provenance.ROOT / "benchmarks" / "results" / "joins.jsonl"
# Mean numbers of elements of the data sets in table 5.1 of the thesis.
SIZES = {
    "LIVEJ": 36,
    "AOL": 3,
    "KOSARAK": 12,
    "ENRON": 134,
    "DBLP": 13,
    "FLICKR": 9,
    "GDELT": 19,
    "BMS-POS": 6,
    "YELP": 6,
    "MIND": 32,
}
METHODS = ("exact", "greedy", "locally_dominant", "paz_schwartzman")
VOCABULARY = 20_000
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
# Data sets whose joins are repeated with shares of the sets, as in figure 5.4.
SCALED = ("FLICKR", "KOSARAK", "GDELT", "MIND", "LIVEJ")
REPEATS = 3
LARGE, LARGE_NAME = 100_000, "large"


def measure(name, sets, device):
    """The line of one data set: all methods on the CPU, the approximate ones on the GPU."""
    methods = METHODS if device == "cpu" else METHODS[1:]
    exact = fuzzy_join(sets, matching="exact")
    line = {"name": name, "device": device, "machine": machine_name(device), "sets": len(sets)}
    line |= {"elements": sum(map(len, sets)) / len(sets), "pairs": len(exact)}
    line |= {"candidates": exact.candidates, "verified": exact.verified}
    line["methods"] = {method: measured(method, sets, exact, device) for method in methods}
    if name in SCALED:
        line["by_share"] = {method: by_share(method, sets, device) for method in methods}
    return line


def measured(method, sets, exact, device):
    """Seconds, recall of the default, precision of the upper bound, and peak memory of one method."""
    found = [fuzzy_join(sets, matching=method, device=device) for _ in range(REPEATS)]
    upper = join_quality(fuzzy_join(sets, matching=method, bound="upper", device=device), exact)
    default = join_quality(found[0], exact)
    assert default.precision == upper.recall == 1.0, "sound by construction"
    return {
        "verify_seconds": min(each.verify_seconds for each in found),
        "filter_seconds": min(each.filter_seconds for each in found),
        "recall": default.recall,
        "missed": default.missed,
        "precision": upper.precision,
        "added": upper.added,
        "peak_bytes": peak_bytes(sets, method) if device == "cpu" else None,
    }


def by_share(method, sets, device):
    """Seconds of verification of shares of the sets."""
    some = (sets[: int(share * len(sets))] for share in SHARES)
    return [fuzzy_join(each, matching=method, device=device).verify_seconds for each in some]


def peak_bytes(sets, method):
    """The most memory that Python and NumPy held at once during a join."""
    tracemalloc.start()
    try:
        fuzzy_join(sets, matching=method)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def large_join(device):
    """The line of one join of many sets; the peak memory is that of the whole process."""
    warm = noisy_sets(500, seed=2)
    fuzzy_join(warm, device=device)  # compiles
    sets = noisy_sets(LARGE, seed=1)
    before = peak_of_process()
    begun = time.perf_counter()
    found = fuzzy_join(sets, device=device, progress=True)
    seconds = time.perf_counter() - begun
    line = {"name": LARGE_NAME, "device": device, "machine": machine_name(device), "sets": LARGE}
    line |= {"threads": numba.get_num_threads(), "elements": sum(map(len, sets)) / LARGE, "seconds": seconds}
    line |= {"pairs": len(found), "candidates": found.candidates, "verified": found.verified}
    line |= {"filter_seconds": found.filter_seconds, "verify_seconds": found.verify_seconds}
    return line | {"bytes_before": before, "peak_bytes": peak_of_process()}


def peak_of_process():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def add_line(path, line):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def machine_name(device):
    found = provenance.surroundings(device)["machine"]
    return found.get("gpu") or found["cpu"]


def stored(path=STORED):
    """The lines in the file, the last one of each data set and device."""
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(line["name"], line["device"]): line for line in lines}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--sets", type=int, default=4000)
    parser.add_argument("--only", nargs="*", choices=SIZES, default=tuple(SIZES))
    parser.add_argument("--out", type=Path, default=STORED)
    parser.add_argument("--large", action="store_true", help=f"one join of {LARGE:,} sets instead")
    parser.add_argument("--write", action="store_true", help="write the page from the stored results")
    chosen = parser.parse_args(arguments)
    if chosen.write:
        from benchmarks.pages import joins_page

        return joins_page.write(stored())
    if chosen.large:
        line = large_join(chosen.device)
        add_line(chosen.out, line)
        print(line, flush=True)
        return 0
    if chosen.device == "cpu":
        numba.set_num_threads(1)  # as in the thesis: algorithms are compared, not numbers of cores
        set_join.clock = time.process_time  # other work on the machine does not count
    for name in chosen.only:
        sets = noisy_sets(chosen.sets, size=SIZES[name], words=VOCABULARY, seed=1)
        line = measure(name, sets, chosen.device)
        add_line(chosen.out, line)
        seconds = {method: f"{each['verify_seconds']:.3g}" for method, each in line["methods"].items()}
        print(name, line["pairs"], "pairs, verified in seconds:", seconds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
