"""`warmup` compiles kernels ahead of time by calling public functions on small matrices."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from linforest_precond import graph, matrices, solvers
from linforest_precond.backends import backend_named, cuda_status
from linforest_precond.backends.array_libraries import xp_of
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.chooser.solver import solve
from linforest_precond.graph import traffic
from linforest_precond.precond.kinds import faces
from linforest_precond.precond.multigrid.multilevel import multilevel
from linforest_precond.precond.relaxation.jacobi import jacobi
from linforest_precond.records.progress import showing

# Unknowns along a side of the grids, and of the coarsest level.
SIDE, COARSEST = 8, 20
# The side of a grid whose vectors use threads, and whose hierarchy is in single precision.
LARGE_SIDE = 300
# Iterations on the large grid: the first two run all kernels.
ITERATIONS = 2


class Systems(NamedTuple):
    """Arguments of the steps: a symmetric and a nonsymmetric matrix, a vector of ones, and a large matrix."""

    A: Any
    B: Any
    r: Any
    large: Any


@named_arguments
def warmup(
    dtype: npt.DTypeLike = np.float64, index_dtype: npt.DTypeLike = np.int32, *, progress: bool = False
) -> None:
    """Compile kernels ahead of time, on every usable backend: preconditioners, solvers, and graph functions.

    On the CPU, those for small matrices, which use one thread, and those for large ones. The compiled code is
    kept: see "numba cache" in `show_config`.

    Parameters
    ----------
    dtype : dtype
        float32, float64, complex64 or complex128.
    index_dtype : dtype
        int32 or int64.
    progress : bool
        Show a bar on the standard error output, or a line for each step where it is not a terminal.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> lf.warmup("float64", progress=True)  # doctest: +SKIP
    """
    options: dict[str, Any] = {"dtype": dtype, "index_dtype": index_dtype}
    runs = _runs()
    with showing(len(STEPS) * len(runs), progress, "warmup", "step") as shown:
        for device, side, words, context in runs:
            systems = _systems(device, side, options)
            with context(), _without_warnings():
                for name, step in STEPS.items():
                    shown.working_on(f"{name}, {words}")
                    step(systems)
                    shown.finished(f"compiled {name}, {words}")


def _runs() -> list[tuple[str, int, str, Callable[[], contextlib.AbstractContextManager[None]]]]:
    """The device, the side of the larger grid, its name, and a context, for each pass over all steps."""
    runs: list[tuple[str, int, str, Any]] = [
        ("cpu", SIDE, "for small inputs", contextlib.nullcontext),
        ("cpu", LARGE_SIDE, "with threads", backend_named("cpu").runtime.jit.threads_for_small_arrays),
    ]
    on_gpu = ("cuda", LARGE_SIDE, "on the GPU", contextlib.nullcontext)
    return [*runs, on_gpu] if cuda_status()[0] else runs


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _systems(device: str, side: int, options: dict[str, Any]) -> Systems:
    A = matrices.aniso(1, SIDE, device=device, **options)
    # Nonsymmetric graphs are symmetrized, and SPAI multiplies sparse matrices, by kernels of their own.
    B = matrices.stencil(SIDE * SIDE, [1, 4, 2], device=device, **options)
    large = matrices.aniso(1, side, device=device, **options)
    return Systems(A, B, _ones(A), large)


def _ones(A: Any) -> Any:
    return xp_of(A).ones(A.shape[0], A.dtype)


def _preconditioner(make: Callable[..., Any], **options: Any) -> Callable[[Systems], None]:
    def step(systems: Systems) -> None:
        for matrix in (systems.A, systems.B):
            make(matrix, **options) @ systems.r

    return step


def _hierarchy(**options: Any) -> Callable[[Systems], None]:
    def step(systems: Systems) -> None:
        for matrix in (systems.A, systems.B):
            multilevel(matrix, max_coarse=COARSEST, **options).aspreconditioner() @ systems.r
        multilevel(systems.large, **options).aspreconditioner() @ _ones(systems.large)

    return step


def _solver(name: str) -> Callable[[Systems], None]:
    def step(systems: Systems) -> None:
        for A in (systems.A, systems.large):
            for M in (None, jacobi(A)):
                getattr(solvers, name)(A, _ones(A), M=M, history=solvers.History(), maxiter=ITERATIONS)

    return step


def _on_graph(function: Callable[..., Any], *arguments: Any) -> Callable[[Systems], None]:
    def step(systems: Systems) -> None:
        for matrix in (systems.A, systems.B):
            function(abs(matrix), *arguments)  # weights are real, and some functions take no negative ones

    return step


def _graph_steps() -> Iterator[tuple[str, Callable[[Systems], None]]]:
    """The functions of `graph` that take a matrix alone, or a matrix and a vertex to start from."""
    for name in graph.__all__:
        function = getattr(graph, name)
        if inspect.isfunction(function) and not function.__module__.startswith(traffic.__name__):
            parameters = inspect.signature(function).parameters.values()
            needed = [each.name for each in parameters if each.default is each.empty]
            if needed in (["A"], ["A", "source"], ["A", "i_start"]):
                yield name, _on_graph(function, *(0 for _ in needed[1:]))


STEPS: dict[str, Callable[[Systems], Any]] = {
    **{name: _preconditioner(face.operator) for name, face in faces().items()},
    "scaling": _preconditioner(jacobi, scaling="matching"),
    "multilevel": _hierarchy(),
    "multilevel by matchings": _hierarchy(coarsening="matching"),
    "multilevel with lines": _hierarchy(smoother="tridiagonal"),
    **{name: _solver(name) for name in solvers.__all__ if inspect.isfunction(getattr(solvers, name))},
    "solve": lambda systems: [solve(matrix, systems.r) for matrix in (systems.A, systems.B)],
    **dict(_graph_steps()),
    "coarsen": _on_graph(lambda A: graph.coarsen(A, graph.matching(A))),  # the matching must be given
}
