"""The benchmarks run, their results conform to the schema, and benchmarks/PERFORMANCE.md shows them."""

import copy
import json
import math
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse.csgraph import maximum_bipartite_matching

from linforest_precond.backends.cuda.forest import factor
from linforest_precond.backends.cuda.runtime.loader import PROGRAMS
from linforest_precond.precond.tridiagonal.solver import solver_of
from linforest_precond.records.forest import Bands
from linforest_precond.study import timing
from linforest_precond.study.forests import recording

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"

pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="tests run outside a source tree")


def run_quick(out, device):
    """What the program prints, and the results that it writes to `out`."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "LINFOREST_COMMIT": "c0ffee"}
    command = [sys.executable, "-m", "benchmarks.run", "--quick", "--device", device, "--out", out]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return run_quick(tmp_path_factory.mktemp("benchmarks") / "new" / "quick.json", "cpu")


@pytest.fixture
def document(quick):
    return copy.deepcopy(quick[1])


@pytest.mark.slow
def test_the_program_measures_the_cpu(quick, document, bench):
    bench("measures.results").check(document)
    assert "whole chain on the CPU" in quick[0] and "whole chain, " in quick[0]
    assert document["commit"] == "c0ffee" and document["quick"] and not document["failures"]
    assert document["sha256"] == bench("measures.provenance").code_hashes()
    assert {row["backend"] for row in document["rows"]} == {"cpu"}
    sections = (
        "cpu",
        "cpu small",
        "cpu solves",
        "cpu iterations",
        "cpu orders",
        "cpu batches",
        "cpu graphs",
        "cpu busy",
        "first calls",
        "stacks",
    )
    of_sections = [[row for row in document["rows"] if row["section"] == section] for section in sections]
    assert sum(map(len, of_sections)) == len(document["rows"])
    chain, small, solves, iterations, orders, batches, kernels, busy, first, stacks = of_sections
    assert len(small) == 24 and sum("M @ r" in row["name"] for row in small) == 12
    assert {row["peer"] for row in stacks} == {"one system, 5-point 20²"} and len(stacks) == 3
    assert {row["peer"] for row in busy} == {"an idle machine"} and len(busy) == 2
    assert [row["name"].partition(", ")[2] for row in first] == ["first process", "second process"]
    assert first[0]["median"] > 2 * first[1]["median"] > 0
    assert {row["peer"] for row in kernels} == {"SciPy", "PyAMG"} and len(kernels) == 13
    assert {row["peer"].partition(",")[0] for row in orders} == {"SciPy"} and len(orders) == 6
    assert {row["judged"] for row in batches} == {"speedup"} and len(batches) == 6
    assert chain and all(row["unit"] == "s" and "thread" in row["name"] for row in chain)
    beside = {(row["case"], row["peer"]) for row in solves}
    assert beside == {
        ("5-point 60² along its paths", "LAPACK pttrs"),
        ("5-point 60² along its paths", "LAPACK gttrs"),
        ("one path (-1, 2, -1)", "LAPACK pttrs"),
        ("one path (-1, 2, -1)", "LAPACK gttrs"),
        ("random bands", "LAPACK gttrs"),
    }
    assert [row["case"] for row in solves if "with pivoting" in row["name"]] == ["random bands"]
    assert {(row["case"], row["peer"]) for row in iterations} == {
        (case, peer) for case in ("5-point 20²", "5-point 25 × 40") for peer in ("SciPy cg", "SciPy bicgstab")
    }


@pytest.mark.gpu
@pytest.mark.slow
def test_the_program_measures_the_gpu(cuda, tmp_path, bench):
    output, document = run_quick(tmp_path / "gpu.json", "cuda")
    bench("measures.results").check(document)
    assert not document["failures"], output
    assert {row["section"] for row in document["rows"]} == set(bench("pages.table").SECTIONS)
    solves = [row for row in document["rows"] if row["section"] == "solves"]
    assert {row["peer"] for row in solves} >= {"cuSPARSE gtsv2", "cuSPARSE gtsv2_nopivot"}
    assert all(row["judged"] == "speedup" and "backward error" in row["note"] for row in solves)
    solutions = [row for row in document["rows"] if row["section"] == "solution"]
    assert len(solutions) == 15 and not any("not solved" in row["note"] for row in solutions)
    parts = {row["name"] for row in document["rows"] if row["section"] == "breakdown"}
    assert "other kernels" not in parts
    assert {"gate", "proposals", "confirmations", "path scan", "ordering", "extraction", "rest"} <= parts
    assert all(min(row["samples"]) > 0 for row in document["rows"] if row["section"] == "speed")


def test_without_a_gpu_the_device_cuda_is_refused(bench, capsys, monkeypatch):
    run = bench("run")
    monkeypatch.setattr(run, "cuda_status", lambda: (False, "no device"))
    assert run.main(["--device", "cuda"]) == 2
    assert "no device" in capsys.readouterr().err


def test_a_failure_does_not_stop_the_other_measurements(bench, monkeypatch, capsys):
    run, row = bench("run"), bench("measures.results").Row("cpu", "works", "a case", [1.0])

    def breaks():
        yield row
        raise RuntimeError("out of luck")

    monkeypatch.setattr(run, "measurements", lambda *_: [("first", breaks), ("second", lambda: [row])])
    *_, (rows, failures) = run.measure("cpu", None)
    assert rows == [row, row] and failures == ["first: RuntimeError: out of luck"]
    assert "out of luck" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("commit"),
        lambda document: document.update(schema=0),
        lambda document: document.update(extra=1),
        lambda document: document["sha256"].pop("cuda"),
        lambda document: document["rows"][0].pop("samples"),
        lambda document: document["rows"][0].update(samples=[]),
        lambda document: document["rows"][0].update(median=1e9),
        lambda document: document["rows"][0].update(met="yes"),
        lambda document: document["rows"][0].update(peer=None),
        lambda document: document["rows"][0].update(backend="unknown"),
        lambda document: document["rows"][0].update(judged="unknown"),
    ],
)
def test_the_schema_rejects_damaged_documents(document, damage, bench):
    damage(document)
    with pytest.raises(ValueError, match="document|row 0"):
        bench("measures.results").check(document)


@pytest.mark.slow
def test_medians_are_those_of_the_rounded_samples(document, bench):
    results = bench("measures.results")
    samples = [-0.123456749, 0.123456851]  # differences of times: the median cancels
    row = results.Row("cpu", "a name", "a case", samples, backend="cpu").as_dict()
    results.check({**document, "rows": [row]})


@pytest.mark.slow
def test_results_are_written_atomically(document, bench, tmp_path):
    results = bench("measures.results")
    path = tmp_path / "kept.json"
    results.write(path, document)
    assert results.read_all(tmp_path) == [document]
    with pytest.raises(TypeError):
        results.write(path, {**document, "machine": {"cpu": object()}})
    assert results.read(path) == document
    assert os.listdir(tmp_path) == ["kept.json"]


def test_a_broken_file_is_named(bench, tmp_path):
    (tmp_path / "cut.json").write_text('{"schema": 1,')
    with pytest.raises(ValueError, match="cut.json"):
        bench("measures.results").read_all(tmp_path)


@pytest.mark.slow
def test_the_table_marks_older_code(document, bench):
    table, hashes = bench("pages.table"), bench("measures.provenance").code_hashes()
    assert table.OLDER not in table.markdown([document], hashes)
    assert "whole chain, " in table.markdown([document], hashes)
    assert table.OLDER in table.markdown([document], {**hashes, "cpu": "another"})
    # CPU rows depend neither on the CUDA backend nor on the benchmarks' own code.
    assert table.OLDER not in table.markdown(
        [document], {**hashes, "cuda": "another", "benchmarks": "another"}
    )


@pytest.mark.slow
def test_the_table_shows_targets(document, bench):
    table, Row = bench("pages.table"), bench("measures.results").Row  # noqa: N806
    peer = {"peer": "SpMV", "peer_samples": [1.0, 2.0, 3.0]}
    rows = [
        Row("speed", "met", "a matrix", [2.0], goal=1.0, **peer),
        Row("speed", "not met", "a matrix", [5.0], goal=2.0, dream=1.0, **peer),
        Row("speed", "both met", "a matrix", [2.0], goal=2.0, dream=1.0, **peer),
        Row("speed", "bare", "a matrix", [0.25]),
    ]
    document["rows"] = [row.as_dict() for row in rows]
    text = table.markdown([bench("measures.results").check(document)], document["sha256"])
    assert "| met | 1.00 (target ≤ 1) |" in text
    assert "| not met | 2.50 (target ≤ 2 **not met**, stretch target ≤ 1) |" in text
    assert "| both met | 1.00 (target ≤ 2, stretch target ≤ 1 met) |" in text
    assert "| bare | 0.250 ms |" in text
    assert "NOT MET" in table.plain(document)


@pytest.mark.slow
def test_a_target_bounds_the_speedup_from_below(document, bench):
    table, results = bench("pages.table"), bench("measures.results")
    row = partial(results.Row, "solves", case="a path", peer="copy", peer_samples=[3.0], judged="speedup")
    rows = [
        row("fast", samples=[4.0], goal=0.75, dream=0.75),
        row("slow", samples=[4.0], goal=0.8, dream=0.85),
        row("unjudged", samples=[1.5]),
    ]
    assert [row.met for row in rows] == [True, False, None]
    document["rows"] = [row.as_dict() for row in rows]
    text = table.markdown([results.check(document)], document["sha256"])
    assert "| a path: fast | 0.750, 4.00 ms (target ≥ 0.75, stretch target ≥ 0.75 met) |" in text
    assert "| a path: slow | 0.750, 4.00 ms (target ≥ 0.8 **not met**, stretch target ≥ 0.85) |" in text
    assert "| a path: unjudged | 2.00, 1.50 ms |" in text
    fast, slow, unjudged = table.plain(document).splitlines()[1:]
    assert fast.split()[-5:] == ["≥", "0.750", "≥", "0.750", "met"] and " 0.750 " in fast
    assert slow.endswith("NOT MET") and unjudged.endswith("2.00")


def test_every_measurement_has_its_own_cell(bench):
    """Two rows in one cell would hide each other."""
    Row = bench("measures.results").Row  # noqa: N806
    rows = [
        Row("solves", "solve", case, [1.0], dtype).as_dict()
        for case in ("a path", "a forest")
        for dtype in ("float32", "float64")
    ]
    table = bench("pages.table")
    assert len({table._place(row) for row in rows}) == 4
    assert set(table.BY_TYPE) | set(table.BY_MATRIX) <= set(table.SECTIONS)


@pytest.mark.slow
def test_the_table_shows_the_notes_of_solutions(document, bench):
    table, results = bench("pages.table"), bench("measures.results")
    row = results.Row("solution", "AlgTriScal", "a grid", [934.0], note="setup 3.2 ms, 812 iterations")
    document["rows"] = [row.as_dict()]
    text = table.markdown([results.check(document)], document["sha256"])
    assert "| AlgTriScal | 934 ms (setup 3.2 ms, 812 iterations) |" in text
    assert set(table.NOTED) <= set(table.SECTIONS)


def ticking_solver(clock, factor=2.0, end=math.inf):
    """A solver that halves the error; it takes two ticks of the clock per iteration and five per solve."""

    def solver(A, b, *, rtol, atol, maxiter, M):
        done = min(maxiter, end)
        clock[0] += 5 + 2 * done
        return b * (1 - factor**-done), done if done == maxiter else 0

    return solver


def test_an_iteration_is_timed_without_setup(bench):
    now = [0.0]

    def ticking(call):
        start = now[0]
        answer = call()
        return now[0] - start, answer

    timer = bench("measures.iteration_time").IterationTimer(None, np.ones(3), more=4, clock=ticking)
    solver = ticking_solver(now)
    assert timer.samples((solver, solver), 3) == [[2.0] * 3] * 2
    timer.check(solver, ticking_solver(now))
    with pytest.raises(RuntimeError, match="differs from its peer"):
        timer.check(solver, ticking_solver(now, factor=3.0))
    with pytest.raises(RuntimeError, match="got info 0, expected 20 iterations"):
        timer.samples((ticking_solver(now, end=18),), 1)


def test_nonpositive_times_meet_no_target(bench):
    reached = bench("measures.results").reached
    assert reached("ratio", 1.0, 0.5, 1.0) and reached("speedup", 1.0, 0.5, 2.0)
    assert not reached("ratio", -1.5, -2.1, 1.0) and not reached("median", -1.5, None, 1.0)
    assert not reached("speedup", 1.0, 0.0, 8.0)


def test_the_traffic_model_counts_words(bench):
    model = bench("measures.memory")
    assert model.held_words(rows=10, block=1) == 5 * 10
    assert model.held_words(rows=10, block=2) == 8 * 20
    moved = partial(model.moved_words, rows=1000, symmetric=True, tile=100)
    assert moved(block=1, halo=0, passes=2) == 7 * 1000
    assert moved(block=1, halo=0, passes=3) == 10 * 1000
    assert moved(block=1, halo=10) == 3 * 1250 + 1000
    assert moved(block=1, halo=0, passes=2, symmetric=False) == 9 * 1000
    # Two blocks of four words, two of the right-hand side, a quarter more for the halos; two of the solution.
    assert moved(block=2, halo=10) == 10 * 1250 + 2 * 1000


@pytest.mark.parametrize("block", [1, 2])
def test_the_backward_error_detects_wrong_solutions(bench, block):
    cases = bench("systems.cases")
    random = np.random.default_rng(3)
    blocks = random.standard_normal((3, 7, block, block))
    blocks[0, 0] = blocks[2, -1] = 0
    T = np.zeros((7 * block, 7 * block))
    for i, (lower, diagonal, upper) in enumerate(zip(*blocks)):
        row, columns = slice(i * block, (i + 1) * block), (i - 1, i, i + 1)
        for j, entries in zip(columns, (lower, diagonal, upper)):
            if 0 <= j < 7:
                T[row, j * block : (j + 1) * block] = entries
    x = random.standard_normal((7 * block, 1))
    bands = Bands(*(blocks if block > 1 else blocks.reshape(3, 7)))
    assert cases.backward_error(bands, T @ x, x) < 1e-15
    wrong = x.copy()
    wrong[3] += 0.5
    size = abs(T).sum(axis=1).max() * abs(wrong).max() + abs(T @ x).max()
    expected = abs(T @ (wrong - x)).max() / size
    assert cases.backward_error(bands, T @ x, wrong) == pytest.approx(expected)


def test_the_tridiagonal_systems_have_the_stated_properties(bench):
    cases = bench("systems.cases")
    _, path = cases.one_path(500, "float64")
    _, random = cases.needs_pivoting(500, "float32")
    assert solver_of(path).positive_definite and not solver_of(path).pivoted
    assert solver_of(random).pivoted and random.diagonal.dtype == np.float32
    for bands in (path, random):
        assert bands.lower[0] == bands.upper[-1] == 0
        assert np.count_nonzero(bands.lower) == np.count_nonzero(bands.upper) == 499


def test_lapack_solves_the_same_systems(bench):
    cases, cpu = bench("systems.cases"), bench("measures.cpu")
    b = cases.right_sides(500, 1, "float64")
    for (_, bands), peers in (
        (cases.one_path(500, "float64"), (cpu.pttrs, cpu.gttrs)),
        (cases.needs_pivoting(500, "float64"), (cpu.gttrs,)),
    ):
        for peer in peers:
            x, info = peer(bands)(b)
            assert info == 0 and cases.backward_error(bands, b, x) < 1e-14
    with pytest.raises(RuntimeError, match="not positive definite"):
        cpu.pttrs(cases.needs_pivoting(500, "float64")[1])


@pytest.mark.gpu
def test_the_call_before_a_sample_is_not_timed(cuda):
    calls = []
    samples = timing.device_samples(
        lambda: calls.append("timed"), 4, queued=True, before=lambda: calls.append("before")
    )
    assert len(samples) == 4 and calls == ["before", "timed"] * (len(calls) // 2)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pivoting", [False, True])
def test_cusparse_solves_the_same_system(cuda, bench, dtype, pivoting):
    cases = bench("systems.cases")
    make = cases.needs_pivoting if pivoting else cases.one_path
    _, bands = make(1000, dtype, cuda.xp)
    b = cuda.array(cases.right_sides(1000, 1, dtype))
    x = b.copy()
    bench("measures.tridiagonal_solves").Gtsv2(bands, pivoting).solve_in_place(x)
    assert cases.backward_error(bands, b, x, cuda.xp) < 1e3 * np.finfo(dtype).eps


def test_the_table_replaces_the_text_between_the_markers(bench):
    table = bench("pages.table")
    document = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    assert table.updated(document, "new") == f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n"
    with pytest.raises(ValueError, match="markers"):
        table.updated("nothing", "new")


def test_every_setup_with_a_target_is_measured(bench):
    """At tiny sizes on the CPU, by the code that measures the GPU."""
    setups, targets, plan = bench("measures.setups"), bench("measures.targets"), bench("systems.cases").QUICK
    rows = [row for _, measurement in setups.measurements(plan, "cpu") for row in measurement()]
    assert all(row.goal and row.dream and row.median > 0 and row.backend == "cpu" for row in rows)
    of_standins = [(row.case.split()[0], row.dtype, row.name) for row in rows if row.peer]
    assert of_standins == [
        (name, dtype, call)
        for name, goals in targets.STANDIN_SETUPS.items()
        for dtype, calls in goals.items()
        for call in calls
    ]
    others = [row for row in rows if not row.peer]
    assert len(others) == 8 and {row.section for row in others} == {"setups", "line smoothers", "systems"}
    assert {row.section for row in rows} <= set(bench("pages.table").SECTIONS)


def test_measurements_are_chosen_by_words_of_their_title(bench):
    run, plan = bench("run"), bench("systems.cases").QUICK
    chosen = [title for title, _ in run.measurements("cpu", plan, ["cpu:pivoting", "cpu:small"])]
    assert chosen == ["solves with pivoting on the CPU", "small matrices on the CPU"]
    with pytest.raises(SystemExit, match="cpu:nothing: the words must be those of a title among whole chain"):
        run.measurements("cpu", plan, ["cpu:nothing"])
    with pytest.raises(SystemExit, match="--only must name modules among .*, got setup"):
        run.measurements("cpu", plan, ["setup:small"])


def test_the_table_of_setups_is_filled(bench):
    page, Row = bench("pages.setup_table"), bench("measures.results").Row  # noqa: N806
    text = page.DOCUMENT.read_text(encoding="utf-8")
    assert page.filled(text, []) == text
    table = text.partition(page.HEADING)[2].partition("\n## ")[0]
    works = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    assert works[2:] == list(page.CELLS)
    rows = [
        Row("stand-in setups", "lf.tridiagonal(A)", f"{name} (stand-in)", [time], dtype, peer="A @ x",
            peer_samples=[2.0])
        for name, time in (("Bump_2911", 12.0), ("Geo_1438", 24.0), ("thermal2", 50.0))
        for dtype in ("float64", "float32")
    ] + [
        Row("solves", "solve beside cuSPARSE gtsv2", "random bands", [2.0], dtype, peer="cuSPARSE gtsv2",
            peer_samples=[7.0], judged="speedup")
        for dtype in ("float64", "float32")
    ]  # fmt: skip
    small = [Row("cpu small", f"lf.{kind}(A)", "a grid", [1.25], backend="cpu", judged="median")
             for kind in page.KINDS]  # fmt: skip
    documents = [
        {"date": "2026", "machine": {"cores": 16}, "rows": [row.as_dict() for row in [*rows, *small]]},
        {"date": "2025", "machine": {"cores": 2}, "rows": [row.as_dict() | {"median": 1.5} for row in small]},
    ]
    new = page.filled(text, page.newest(documents))
    before, now = (
        {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[2:] for line in page_text.splitlines()}
        for page_text in (text, new)
    )
    filled = {
        "`lf.tridiagonal(A)`, long rows, float64 / float32": "6.00–12.0 / 6.00–12.0",
        "pivoted solve beside gtsv2 with pivoting, float64 / float32": "3.50 / 3.50 ×",
        works[-2]: "1.50 / 1.50 / 1.50 ms",
    }
    assert now == before | {work: [value, *before[work][1:]] for work, value in filled.items()}


def test_without_results_the_table_says_so(bench):
    assert bench("pages.table").markdown([], {}) == bench("pages.table").NOTHING


def test_the_document_shows_the_results(bench):
    table = bench("pages.table")
    text = table.markdown(bench("measures.results").read_all(), bench("measures.provenance").code_hashes())
    document = table.DOCUMENT.read_text(encoding="utf-8")
    assert document == table.updated(document, text), "run python -m benchmarks.pages.table --write"


def test_stored_results_are_of_full_size(bench):
    assert not any(document["quick"] for document in bench("measures.results").read_all())


def test_hashes_follow_names_and_contents(bench, tmp_path):
    hash_of = bench("measures.provenance").hash_of
    (tmp_path / "kernels").mkdir()
    source = tmp_path / "kernels" / "one.cu"
    source.write_text("a")
    first = hash_of(tmp_path)
    (tmp_path / "notes.txt").write_text("not code")
    assert hash_of(tmp_path) == first
    source.write_text("b")
    second = hash_of(tmp_path)
    source.rename(tmp_path / "kernels" / "two.cu")
    assert len({first, second, hash_of(tmp_path)}) == 3


@pytest.mark.parametrize(
    "edited", ["solvers/cg.py", "precond/relaxation/jacobi.py", "graph/forest/factor.py"]
)
def test_edited_host_code_changes_the_hashes_of_both_backends(bench, tmp_path, monkeypatch, edited):
    machine = bench("measures.provenance")
    before = machine.code_hashes()
    assert set(before) == set(bench("measures.results").HASHED)
    copies = tuple(shutil.copytree(folder, tmp_path / folder.name) for folder in machine.HOST_FOLDERS)
    monkeypatch.setattr(machine, "HOST_FOLDERS", copies)
    assert machine.code_hashes() == before
    with open(tmp_path / edited, "a", encoding="utf-8") as source:
        source.write("# edited\n")
    after = machine.code_hashes()
    assert {part for part in before if before[part] != after[part]} == {"cuda", "cpu"}


def test_benchs_of_the_study_count_as_code_of_the_benchmarks(bench, tmp_path, monkeypatch):
    machine = bench("measures.provenance")
    before = machine.code_hashes()
    copies = tuple(Path(shutil.copy(source, tmp_path)) for source in machine.STUDY_MODULES)
    monkeypatch.setattr(machine, "STUDY_MODULES", copies)
    assert machine.code_hashes() == before
    with open(copies[-1], "a", encoding="utf-8") as source:
        source.write("# edited\n")
    after = machine.code_hashes()
    assert {part for part in before if before[part] != after[part]} == {"benchmarks"}


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


def test_peak_memory_is_the_most_allocated_at_once(bench):
    balance = bench("measures.memory")._Balance()
    balance.malloc_postprocess(mem_size=512, mem_ptr=1, size=3, device_id=0)
    balance.malloc_postprocess(mem_size=1024, mem_ptr=2, size=3, device_id=0)
    balance.free_postprocess(mem_size=512, mem_ptr=1, device_id=0)
    balance.free_postprocess(mem_size=4096, mem_ptr=7, device_id=0)  # allocated before
    balance.malloc_postprocess(mem_size=256, mem_ptr=3, size=3, device_id=0)
    assert (balance.used, balance.peak) == (1280, 1536)


def test_the_convection_matrix_is_not_symmetric(bench):
    cases = bench("systems.cases")
    (_, flow), (_, cube) = cases.flow(cases.QUICK), cases.solved_cube(cases.QUICK)
    assert (flow != flow.T).nnz and abs((flow + flow.T) / 2 - cube).max() < 1e-15
    (_, small) = cases.thousand_rows(cases.QUICK)
    assert small.shape == (1000, 1000)


def test_the_graph_generated_on_a_device_is_skewed_and_symmetric(bench):
    A = bench("measures.graph_kernels").rmat_on("cpu", 9, 16)
    assert A.shape == (512, 512) and (A != A.T).nnz == 0 and not A.diagonal().any()
    assert A.has_canonical_format and set(A.data) == {1}
    lengths = np.diff(A.indptr)
    assert 5 * 512 < A.nnz < 32 * 512 and lengths.max() > 5 * lengths.mean()


def test_rows_that_have_to_be_matched_have_a_perfect_matching(bench):
    cases = bench("systems.cases")
    for make in cases.MATCHED_ROWS.values():
        A = make(400)
        assert A.shape == (400, 400) and not A.diagonal().all()
        assert (maximum_bipartite_matching(A) >= 0).all()
    _, beam = cases.beam(cases.QUICK)
    assert beam.shape[0] == 3 * np.prod(cases.QUICK.beam) and (beam != beam.T).nnz == 0
    assert abs(3 * np.prod(cases.FULL.beam) - 10**6) < 5e4


def test_the_graphs_have_the_stated_properties(bench):
    cases = bench("systems.cases")
    made = {name: case(cases.QUICK)[1] for name, (case, _) in cases.GRAPH_CASES.items()}
    symmetric = {name for name, A in made.items() if (A != A.T).nnz == 0}
    assert symmetric == {"R-MAT", "cube", "weighted cube"}
    assert np.unique(made["weighted cube"].data).size == made["weighted cube"].nnz // 2
    targets = bench("measures.targets")
    assert {kernel for name, kernel in targets.GRAPH_SPMVS if name in made} <= set(cases.ON_ALL)


def test_the_long_row_has_as_many_entries_as_the_regular_graph(bench):
    cases = bench("systems.cases")
    (_, hub), (_, regular) = cases.hub(cases.QUICK), cases.regular(cases.QUICK)
    lengths = np.diff(hub.indptr)
    assert hub.shape[0] == cases.QUICK.hub_grid**2 + 1
    assert lengths.max() == lengths[-1] == hub.shape[0] and lengths[:-1].max() == 6
    assert regular.nnz == pytest.approx(hub.nnz, rel=0.05)
    assert (hub != hub.T).nnz == 0


def test_the_nonsymmetric_cases_have_the_stated_properties(bench):
    cases = bench("systems.cases")
    _, convection = cases.convection(cases.QUICK)
    _, upwind = cases.upwind(cases.QUICK)
    same_pattern = [((A != 0) != (A.T != 0)).nnz == 0 for A in (convection, upwind)]
    assert same_pattern == [True, False]
    assert (abs(convection) != abs(convection.T)).nnz


def test_costs_of_ranks_are_given_in_units_of_one_process(bench):
    program = bench("pages.rank_costs")
    one, two = (
        {f"{kind}: {way}": (seconds, 2 * seconds) for kind in program.KINDS for way, seconds in ways.items()}
        for ways in ({"alone": 1.0, "ranks": 1.5}, {"ranks": 0.5})
    )
    table = program.markdown(one, two, 10)
    assert "| `multilevel`: setup | 1,000.0 | 1,500.0 | 1.50 x | 500.0 | 0.50 x |" in table
    assert table.count("iteration of CG") == len(program.KINDS)
