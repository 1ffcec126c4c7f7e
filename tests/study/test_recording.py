"""What is recorded of a setup on the GPU: its kernels by parts, and the calls that are timed."""

import numpy as np
import pytest

from linforest_precond.backends.cuda.forest import factor
from linforest_precond.backends.cuda.runtime.loader import PROGRAMS
from linforest_precond.study import timing
from linforest_precond.study.forests import recording


def test_every_kernel_has_a_file():
    files = recording.kernel_files()
    assert set(files.values()) == set(PROGRAMS)
    assert files["propose_factor"] == "forest/factor" and files["scan_entries"] == "matrix/entries"
    sources = sorted(recording.KERNELS.rglob("*.cu"))
    assert len(files) == sum(source.read_text().count("\nKERNEL ") for source in sources)


# A log of `launch.recording` with times in place of CUDA events: (kernel, start, end).
COLUMNS = ("active", "confirmed", "proposed", "started_at", "proposed_at", "confirmed_at")
FILES = {
    "scan_entries": "matrix/entries",
    "propose_factor": "forest/factor",
    "rank_paths": "forest/linear_forest",
    "cut_cycles": "forest/linear_forest",
    "add_up": "runtime/prefix_sum",
    "place_vertices": "forest/ordering",
    "copy_bands": "forest/bands",
}


def log_of_a_chain():
    iterations = np.zeros((4, len(COLUMNS)), np.uint64)
    iterations[0] = 9, 4, 1, 1_000_000, 3_000_000, 4_000_000
    iterations[1] = 5, 2, 1, 4_000_000, 4_500_000, 4_750_000
    return [
        ("scan_entries", 0.0, 1.0),
        ("propose_factor", 1.0, 6.0),
        ("iterations", iterations, None),
        ("rank_paths", 6.0, 7.0),
        ("cut_cycles", 7.0, 7.5),
        ("rank_paths", 8.0, 8.25),
        ("add_up", 9.25, 9.5),
        ("place_vertices", 9.5, 10.0),
        ("ordering", 9.0, 10.0),
        ("copy_bands", 10.0, 10.5),
        ("unknown", 10.5, 10.625),
    ]


def read(log, columns=COLUMNS):
    return recording.read(log, columns, lambda first, second: second - first, np.asarray)


def test_the_breakdown_adds_up_to_the_total():
    parts = recording.breakdown(read(log_of_a_chain()), 12.0, FILES)
    assert parts == {
        "gate": 1.0,
        "proposals": 2.5,
        "confirmations": 1.25,
        "path scan": 1.0,
        "cycle scan": 0.75,
        "ordering": 1.0,
        "extraction": 0.5,
        "other kernels": 0.125,
        "rest": 3.875,
    }
    assert sum(parts.values()) == 12.0


def test_a_proposition_is_timed_by_the_clock_of_the_kernel():
    log = log_of_a_chain()[:3]
    log[2][1][1] = 0
    assert recording.first_proposition(read(log)) == 2.0
    # Without a start time, the whole launch except the confirmation counts.
    log[2] = ("iterations", np.delete(log[2][1], COLUMNS.index("started_at"), axis=1), None)
    columns = tuple(column for column in COLUMNS if column != "started_at")
    assert recording.first_proposition(read(log, columns)) == 4.0


def test_the_kernel_records_the_times_that_are_read():
    assert {"proposed_at", "confirmed_at"} <= set(factor.RECORD)


@pytest.mark.gpu
def test_the_call_before_a_sample_is_not_timed(cuda):
    calls = []
    samples = timing.device_samples(
        lambda: calls.append("timed"), 4, queued=True, before=lambda: calls.append("before")
    )
    assert len(samples) == 4 and calls == ["before", "timed"] * (len(calls) // 2)
