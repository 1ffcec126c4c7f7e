"""Synthetic studies for the tests of the report."""

import copy
import math

from linforest_precond.matrices.catalogue import catalogue

RATES = {"Jacobi": 0.90, "TriScal": 0.86, "AlgTriScal": 0.80, "AlgTriBlock+": 0.76}
RULES = ("index", "random", "auto")
STAGES = {"gate": 0.1, "factor": 0.45, "cycles": 0.15, "order": 0.1, "bands": 0.2}


def coverage(paper="aniso2", shift=0.002):
    """The paper's coverages, slightly perturbed."""
    entry = catalogue()[paper]
    table = entry.table5
    measured = {
        "configurations": [
            {
                "m": m,
                "k_m": k_m,
                "c5": row.c5 + shift,
                "cmax": row.cmax + shift,
                "iterations_max": row.M_max + 1,
            }
            for (m, k_m), row in entry.table4.items()
        ],
        "parallel": {str(n): value + shift for n, value in table.parallel.items()},
        "sequential": {str(n): value + shift for n, value in table.sequential.items()},
        "block": {str(m): value + shift for m, value in table.block.items()},
    }
    by_seed = {n: [value, value + 0.001] for n, value in measured["parallel"].items()}
    return {
        "identity": table.c_id + shift,
        "forest": table.parallel[2] + shift,
        "charge": "md5",
        "ties": {"parallel": "index", "sequential": "random"},
        **measured,
        "rules": {rule: measured | ({"sequential": None} if rule == "auto" else {}) for rule in RULES},
        "charges": {"md5": by_seed, "splitmix64": by_seed},
        "single_precision": [{"parts": 4, "identity": table.c_id + 0.001, "scale": 1.0}],
    }


def run(precond, rate, *, points=200, rtol=1e-10, status="CONVERGED"):
    """A solve whose residual decreases by `rate` per iteration, with oscillations."""
    needed = math.ceil(math.log(rtol) / math.log(rate))
    iterations = [needed * point / (points - 1) for point in range(points)]
    residuals = [rate**k * (1 + 0.8 * math.sin(2.7 * k) ** 2) for k in iterations]
    return {
        "precond": precond,
        "status": status,
        "info": 0 if status == "CONVERGED" else -10,
        "iterations": float(needed) + 0.5,
        "median_iterations": float(needed) + 2,
        "permuted_iterations": [float(needed) + more for more in (-1, 2, 8)],
        "setup_seconds": 0.0123 * rate,
        "solve_seconds": 1.234e-3 * needed,
        "residual": residuals[-1],
        "error": 30 * residuals[-1],
        "coverage": None if precond == "Jacobi" else 1 - rate,
        "history": {
            "iterations": iterations,
            "residuals": residuals,
            "errors": [3 * r**0.9 for r in residuals],
        },
    }


def convergence(slower=0.0, **options):
    runs = [run(name, rate + slower, **options) for name, rate in RATES.items()]
    return {"rtol": 1e-10, "maxiter": 5000, "permutations": 3, "runs": runs}


def performance(scale=1.0, launches=True):
    """As on the GPU; without launches as on the CPU."""
    whole = 0.0317 * scale
    dtypes = ("float32", "float64") if launches else ("float64",)
    ours = [{"stage": stage, "seconds": share * whole} for stage, share in STAGES.items()]
    srcsr = {"seconds": 3e-3 * scale, "gb_per_s": 12.5}
    speeds = {"cycles": [7.0, 8.0, 9.0], "paths": [9.0, 9.7, 10.0]}
    return {
        "precision": dtypes[0],
        "spmv": {
            dtype: {"seconds": 2.5e-3 * scale, "gb_per_s": 15.0, "srcsr": srcsr if launches else None}
            for dtype in dtypes
        },
        "copy_gb_per_s": 21.5,
        "propositions": [
            {"dtype": dtype, "k": k, "n": n, "seconds": seconds * scale, "gb_per_s": 8.0, "vertices": 625_000}
            for dtype in dtypes
            for k in (0, 1, 4)
            for n, seconds in enumerate((2.1e-3, 3.2e-3, 4.4e-3, 5.9e-3), 1)
        ],
        "scans": {
            "seconds": {"bidirectional_scan": 4e-3 * scale, "list_ranking": 1e-3 * scale},
            "launches": speeds if launches else None,
        },
        "sequential_scan_seconds": 0.0101 * scale,
        "orderings": {"radix_sort": 2e-3 * scale, "scan": 5e-4 * scale},
        "setups": {
            "paper": [each | {"seconds": 2 * each["seconds"]} for each in ours],
            "ours": ours,
        },
        "setup_seconds": {"paper": 2 * whole, "ours": whole},
    }


def case(name="aniso2:2500", **changes):
    """A finished case: ANISO2 at the paper's size by default."""
    made = {
        "name": name,
        "title": "ANISO2 2500 × 2500",
        "paper": "aniso2",
        "origin": "generated",
        "note": None,
        "at_paper_size": True,
        "status": "done",
        "error": None,
        "seconds": 12.5,
        "rows": 6_250_000,
        "nnz": 56_220_004,
        "symmetric": True,
        "mean_degree": 8.9952,
        "coverage": coverage(),
        "convergence": convergence(),
        "performance": performance(),
    }
    return made | changes


def standin(**changes):
    return (
        case(
            "standin:atmosmodm/4",
            title="atmosmodm",
            paper="atmosmodm",
            origin="stand-in",
            note="stand-in for Bourchtein/atmosmodm, sides divided by 4",
            at_paper_size=False,
            rows=23_276,
            nnz=157_468,
            symmetric=False,
            mean_degree=6.77,
            coverage=coverage("atmosmodm", 0.03),
            convergence=convergence(0.03),
            performance=performance(0.1),
        )
        | changes
    )


def not_done(name, status, error):
    nothing = ("rows", "nnz", "symmetric", "mean_degree", "coverage", "convergence", "performance")
    return case(name, title=name, paper=None, status=status, error=error) | dict.fromkeys(nothing)


def gallery(**changes):
    """A matrix that is not in the paper, without some parts, and with values that were NaN."""
    slow = run("Jacobi", 0.95, status="RHO") | {"residual": None, "error": None}
    slow |= {"median_iterations": None, "permuted_iterations": None}
    slow["history"]["residuals"][-1] = None
    solves = convergence() | {"runs": [slow, run("AlgTriScal", 0.7)]}
    return (
        case(
            "pyamg:bar",
            title="bar",
            paper=None,
            origin="gallery",
            at_paper_size=False,
            coverage=None,
            convergence=solves,
            performance=performance() | {"sequential_scan_seconds": None, "copy_gb_per_s": None},
        )
        | changes
    )


def study(cases=None, **changes):
    """A study with every kind of case by default."""
    everything = [
        case(),
        case(
            "aniso1:300",
            title="ANISO1 300 × 300",
            paper="aniso1",
            at_paper_size=False,
            rows=90_000,
            coverage=coverage("aniso1", 0.003),
            nnz=806_404,
        ),
        standin(),
        gallery(),
        not_done("broken.mtx", "failed", "ValueError: A has a NaN at (3, 4)"),
        not_done("Serena", "missing", "not in the cache, and there is no network"),
    ]
    made = {
        "schema": 1,
        "title": "Linear forest study",
        "started": "2026-01-05T10:00:00+00:00",
        "finished": "2026-01-05T10:12:30+00:00",
        "interrupted": False,
        "device": "cpu",
        "mode": "quick",
        "machine": {
            "processor": "A Processor 9000",
            "cores": 8,
            "gpu": None,
            "memory_gib": 31.2,
            "versions": {"python": "3.11.9", "numpy": "2.1.0", "cupy": None, "linforest_precond": "0.1.0"},
            "commit": "0123456789abcdef",
        },
        "settings": {
            "rtol": 1e-10,
            "maxiter": 5000,
            "permutations": 3,
            "charge": "md5",
            "ties": "index",
            "repair": "none",
            "parts": ["coverage", "convergence", "performance"],
        },
        "cases": everything if cases is None else cases,
    }
    return copy.deepcopy(made | changes)


def large_study():
    """All 22 matrices of the paper, with histories of full length."""
    cases = []
    for place, (name, paper) in enumerate(catalogue().items()):
        generated = paper.group is None
        cases.append(
            case(
                name,
                title=name,
                paper=name,
                origin="generated" if generated else "collection",
                rows=paper.rows,
                nnz=paper.nnz,
                symmetric=paper.symmetric,
                mean_degree=paper.mean_degree,
                coverage=coverage(name, 0.006 * (place % 4)),
                convergence=convergence(0.01 * (place % 9), points=600),
                performance=performance(1 + place),
            )
        )
    return study(cases, mode="full")
