"""Setup and application for many small systems with one pattern, beside one large system."""

from __future__ import annotations

from functools import partial

import linforest_precond as lf
from benchmarks.measures import targets
from benchmarks.measures.results import Row
from benchmarks.systems import cases
from linforest_precond.matrices.arrays import array_modules, on_device
from linforest_precond.study import timing


def measurements(plan, device):
    """(title, function that yields rows) of the measurements in this module."""
    for name in dict.fromkeys(("cpu", device)):
        yield f"stacks of systems, {name}", partial(stack_rows, plan, name)


def stack_rows(plan, device):
    """`lf.tridiagonal(A, values=V)` and products with a stack of vectors."""
    title, A, factors = cases.stack(plan)
    peer, B = cases.large_grid(plan)
    A, B = on_device(A, device), on_device(B, device)
    xp = array_modules(device)[0]
    values, r = xp.asarray(factors)[:, None] * A.data, xp.ones(B.shape[0])
    R = xp.ones((factors.size, A.shape[0]))
    M, single = lf.tridiagonal(A, values=values), lf.tridiagonal(B)
    others = 2 * values
    calls = {
        "lf.tridiagonal(A, values=V)": (lambda: lf.tridiagonal(A, values=values), lambda: lf.tridiagonal(B)),
        "M.update(A, values=V)": (lambda: M.update(A, values=others), lambda: single.update(B)),
        "M @ R": (lambda: M @ R, lambda: single @ r),
    }
    for name, pair in calls.items():
        samples, peer_samples = (samples_of(plan, call, device) for call in pair)
        yield Row(
            "stacks",
            f"{name} on the {'GPU' if device == 'cuda' else 'CPU'}",
            title,
            samples,
            backend=device,
            peer=f"one system, {peer}",
            peer_samples=peer_samples,
            note=f"{M.shape[0]:,} rows in all",
            **targets.STACK,
        )


def samples_of(plan, call, device):
    """Milliseconds of calls; on the GPU from an idle device."""
    if device == "cuda":
        return timing.device_samples(call, plan.chain_repeats)
    return [1e3 * sample for sample in timing.host_samples(call, plan.cpu_repeats)]
