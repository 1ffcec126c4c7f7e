"""``linforest solve``: solve one system, with a given preconditioner or one that is chosen by trial."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from linforest_precond import matrices, solvers
from linforest_precond.app.commands import inputs, vectors
from linforest_precond.app.commands.inputs import watched
from linforest_precond.app.commands.preconditioners import (
    CHOICES,
    add_multigrid_options,
    multigrid_options,
    preconditioner_name,
)
from linforest_precond.app.commands.properties import properties
from linforest_precond.app.interrupts import Exit
from linforest_precond.backends.arguments import integer, number
from linforest_precond.backends.array_libraries import on_host, xp_of
from linforest_precond.chooser.report import SolveReport
from linforest_precond.chooser.solver import solve
from linforest_precond.chooser.trials import method_for
from linforest_precond.matrices.arrays import on_device
from linforest_precond.matrices.readers.atomic_files import replacing
from linforest_precond.package_imports import optional_module
from linforest_precond.precond.scaling.matrix_scaling import METHODS
from linforest_precond.records.printing import as_table, one_line

SOLVERS = {name: getattr(solvers, name) for name in solvers.__all__ if name.islower()}
PICTURES = (".svg", ".png", ".pdf")
# The default limit of iterations is 10 per row, and at most this.
MOST_ITERATIONS = 20_000
FOR_SYMMETRIC = ("cg", "fcg", "minres")

EPILOG = f"""\
{inputs.MATRIX_HELP}

x is written to --out, by default NAME.x.npy in the current folder, also when the solve did not converge or
Ctrl-C ended it (to continue from it with --x0). No file is overwritten without --force.

examples:
  linforest solve A.mtx
  linforest solve aniso2:300 --no-out
  linforest solve A.mtx --rhs b.npy --out x.npy
  linforest solve A.mtx --precond block_tridiagonal --rtol 1e-10 --history h.csv --plot h.svg
  linforest solve A.mtx --precond multilevel --smoother tridiagonal --cycle V
  linforest solve ecology1 --precond jacobi --device cuda"""


def add_arguments(parser: ArgumentParser) -> None:
    inputs.add_arguments(parser)
    _add_methods(parser)
    _add_system(parser)
    _add_files(parser)


def _add_methods(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--precond",
        type=preconditioner_name,
        choices=("auto", "none", *CHOICES),
        help="auto: chosen by trial, with the solver (the default; with --solver it is tridiagonal); none: "
        f"the solver alone; {'; '.join(f'{name}: {choice.title}' for name, choice in CHOICES.items())}",
    )
    add_multigrid_options(parser)
    parser.add_argument(
        "--scaling",
        choices=("none", "auto", *METHODS),
        default="none",
        help="how rows and columns are scaled for --precond. matching: large entries are permuted to the "
        "diagonal, too; auto: a matching where the diagonal has tiny entries (default: none)",
    )
    parser.add_argument(
        "--solver",
        choices=("auto", *SOLVERS),
        default="auto",
        help="auto (the default): cg if A is symmetric with a positive diagonal, else bicgstab; or "
        "chosen with the preconditioner",
    )


def _add_system(parser: ArgumentParser) -> None:
    """The right-hand side, the first iterate, and when to stop."""
    parser.add_argument(
        "--rhs",
        default="ones",
        metavar="ones|sine|random|FILE",
        help="b: all ones (the default); sine: A x for the known solution x = sin(16 pi i / n), so that "
        "errors are shown too; random: normally distributed; or a file .npy, .mtx or .txt, columns allowed",
    )
    parser.add_argument(
        "--seed", type=integer, default=0, help="of --rhs random and --precond auto (default: 0)"
    )
    parser.add_argument("--x0", metavar="FILE", help="initial guess (default: 0)")
    parser.add_argument(
        "--rtol", type=number, default=1e-8, help="relative residual tolerance (default: 1e-8)"
    )
    parser.add_argument("--atol", type=number, default=0.0, help="absolute residual tolerance (default: 0)")
    parser.add_argument(
        "--maxiter",
        type=integer,
        metavar="N",
        help="maximum number of iterations, with --precond auto of each candidate (default: 10 per row, and "
        f"not more than {MOST_ITERATIONS:,})",
    )


def _add_files(parser: ArgumentParser) -> None:
    out = parser.add_mutually_exclusive_group()
    out.add_argument("--out", metavar="FILE", help="file for x: .npy, .mtx or .txt (default: NAME.x.npy)")
    out.add_argument("--no-out", action="store_true", help="do not write x")
    parser.add_argument("--history", metavar="FILE.csv", help="write iteration, seconds, residual, error")
    parser.add_argument("--plot", metavar="FILE.svg|.png", help="plot the residuals")
    parser.add_argument("--force", action="store_true", help="overwrite files")
    parser.add_argument("--quiet", action="store_true", help="no live line while it runs")


def run(arguments: Namespace) -> int:
    arguments.precond = _preconditioner_name(arguments.precond, arguments.solver)
    _check_scaling(arguments.scaling, arguments.precond)
    _check_multigrid(arguments)
    outputs = _outputs(arguments)
    inputs.check_device(arguments.device)
    A = matrices.load(arguments.matrix, offline=arguments.offline)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be square, got the shape {A.shape} of {arguments.matrix}")
    b, x_true = vectors.right_hand_side(arguments.rhs, A, arguments.seed)
    x0 = None if arguments.x0 is None else vectors.read_vector(arguments.x0, "--x0", A.shape[0])
    limit = _state_limit(arguments, A.shape[0])
    if arguments.precond == "auto":
        return _run_auto(on_device(A, arguments.device), b, x0, x_true, arguments, outputs, limit)
    name = _solver_name(arguments.solver, A)
    A = on_device(A, arguments.device)
    print(_headline(arguments, A), flush=True)
    M = _preconditioner(A, arguments)
    if M is not None:
        name = method_for(M, name) if arguments.solver == "auto" else name
        print(M)
    print(f"{name}, {limit}", flush=True)
    history: Any = solvers.History(_like(A, x_true))
    said = r"\w+ stopped after"  # a warning that repeats the printed status
    x, _, stopped = _solve(SOLVERS[name], A, b, x0, arguments, said, M=M, history=history)
    print(history)
    if stopped:
        return _write_stopped(outputs, x, history, arguments.precond)
    statuses = history.status if isinstance(history.status, list) else [history.status]
    for status in dict.fromkeys(statuses):
        print(f"{status}: {status.advice}")
    _write(outputs, x, history, arguments.precond)
    return Exit.DONE if all(s is solvers.Status.CONVERGED for s in statuses) else Exit.NOT_CONVERGED


def _state_limit(arguments: Namespace, rows: int) -> str:
    """Set the most iterations where the user did not, and say how many they are."""
    if arguments.maxiter is not None:
        return f"at most {arguments.maxiter:,} iterations"
    arguments.maxiter = min(10 * rows, MOST_ITERATIONS)
    return f"at most {arguments.maxiter:,} iterations (--maxiter sets another limit)"


def _run_auto(
    A: Any, b: Any, x0: Any, x_true: Any, arguments: Namespace, outputs: dict[str, Path], limit: str
) -> int:
    """Solve with what is chosen by trial, and print all trials."""
    print(f"{one_line(arguments.matrix)}: {A.shape[0]:,} rows, {A.nnz:,} entries; {limit} of each candidate")
    sys.stdout.flush()
    report = SolveReport(_like(A, x_true))
    said = ""  # every warning: the report has them
    x, info, stopped = _solve(solve, A, b, x0, arguments, said, report=report, seed=arguments.seed)
    print(report)
    if report.history is not None:
        print(report.history)
    if stopped:
        return _write_stopped(outputs, x, report.history, "auto")
    _write(outputs, x, report.history, "auto")
    return Exit.NOT_CONVERGED if np.any(info) else Exit.DONE


def _preconditioner_name(wanted: str | None, solver: str) -> str:
    if wanted is None:
        return "auto" if solver == "auto" else "tridiagonal"
    if wanted == "auto" and solver != "auto":
        raise ValueError(f"--precond auto chooses the solver, too: got --solver {solver}")
    return wanted


def _check_scaling(scaling: str, precond: str) -> None:
    if scaling != "none" and precond in ("auto", "none"):
        raise ValueError(f"--scaling {scaling} needs a --precond that it scales, got --precond {precond}")


def _check_multigrid(arguments: Namespace) -> None:
    for name in multigrid_options(arguments):
        if arguments.precond != "multilevel":
            raise ValueError(f"--{name} is an option of --precond multilevel, got {arguments.precond}")


def _preconditioner(A: Any, arguments: Namespace) -> Any:
    if arguments.precond == "none":
        return None
    scaling = None if arguments.scaling == "none" else arguments.scaling
    return CHOICES[arguments.precond].make(A, scaling=scaling, **multigrid_options(arguments))


def _outputs(arguments: Namespace) -> dict[str, Path]:
    """The files to write, all checked before the solve."""
    named = {"out": arguments.out, "history": arguments.history, "plot": arguments.plot}
    if arguments.no_out:
        del named["out"]
    elif not arguments.out:
        named["out"] = f"{inputs.plain_name(arguments.matrix)}.x.npy"
    suffixes = {"out": vectors.SUFFIXES, "history": (), "plot": PICTURES}
    given = arguments.matrix, arguments.rhs  # x may replace x0
    outputs = {
        name: vectors.check_output(Path(path), suffixes[name], f"--{name}", arguments.force, given)
        for name, path in named.items()
        if path
    }
    if arguments.plot:
        _new_figure()  # raises if Matplotlib is missing
    if len(set(outputs.values())) < len(outputs):
        raise ValueError("--out, --history and --plot must name different files")
    return outputs


def _solver_name(wanted: str, A: Any) -> str:
    if wanted in FOR_SYMMETRIC and not properties(A).hermitian:
        told = f"--solver {wanted} is for a symmetric A, which this is not: try bicgstab or gmres"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
    if wanted != "auto":
        return wanted
    return "cg" if properties(A).fits_cg else "bicgstab"


def _headline(arguments: Namespace, A: Any) -> str:
    precond = "nothing" if arguments.precond == "none" else CHOICES[arguments.precond].title
    return f"{one_line(arguments.matrix)}: {A.shape[0]:,} rows, {A.nnz:,} entries; with {precond}"


def _solve(
    method: Any, A: Any, b: Any, x0: Any, arguments: Namespace, said: str, **options: Any
) -> tuple[Any, Any, bool]:
    """The solution on the host, `info`, and whether Ctrl-C ended the solve; `said` is a needless warning."""
    limits = {"rtol": arguments.rtol, "atol": arguments.atol, "maxiter": arguments.maxiter}
    with warnings.catch_warnings(), watched(arguments.quiet) as verbose:
        warnings.filterwarnings("ignore", said, RuntimeWarning)
        try:
            x, info = method(A, _like(A, b), _like(A, x0), verbose=verbose, **limits, **options)
        except solvers.Interrupted as error:
            return on_host(error.x), 1, True
    return on_host(x), info, False


def _like(A: Any, vector: Any) -> Any:
    """A vector on A's device; None stays."""
    return None if vector is None else xp_of(A).asarray(vector)


def _write_stopped(outputs: dict[str, Path], x: np.ndarray, history: Any, label: str) -> Exit:
    """Write what there is after Ctrl-C."""
    _write(outputs, x, history, label)
    print("linforest: interrupted; --x0 FILE continues from x", file=sys.stderr)
    return Exit.INTERRUPTED


def _write(outputs: dict[str, Path], x: np.ndarray, history: Any, label: str) -> None:
    if history is None:  # of a system without rows
        outputs = {name: path for name, path in outputs.items() if name == "out"}
    if "out" in outputs:
        vectors.write_vector(outputs["out"], x)
    if "history" in outputs:
        with replacing(outputs["history"]) as unfinished:
            history.to_csv(unfinished)
    if "plot" in outputs:
        figure = _new_figure()
        history.plot(figure.subplots(), label=f"{history.solver}, {label}")
        with replacing(outputs["plot"]) as unfinished:
            figure.savefig(unfinished)
    words = {"out": "x", "history": "history", "plot": "picture"}
    if outputs:
        print(as_table("written", *((words[name], one_line(str(path))) for name, path in outputs.items())))


def _new_figure() -> Any:
    advice = '--plot needs matplotlib: pip install "linforest-precond[study]", or plain matplotlib'
    return optional_module("matplotlib.figure", advice).Figure(layout="constrained")
