"""The convergence history of a solve."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from linforest_precond.backends import Backend
from linforest_precond.backends.annotations import Array, DType
from linforest_precond.matrix.vectors import checked_vectors
from linforest_precond.package_imports import optional_module
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.solvers.residual_bands import draw_curve

from .status import Status

# Host arrays of numbers.
Floats: TypeAlias = npt.NDArray[np.float64]
MOST_MARKERS = 100  # more would hide the curve
# An iteration that takes longer than this multiple of the median has compiled kernels.
LONG = 10.0


class History(Printed):
    """The convergence history of one solve, recorded by a solver that gets it as ``history=``.

    With k systems `residuals` and `errors` have shape (records, k), with one they are 1-D. A history that is
    used again starts over.

    Parameters
    ----------
    x_true : array, optional
        The solution, of b's shape and on its device; with it, errors are recorded too.

    Attributes
    ----------
    iterations : (records,) array
        0 for the start, then 1, 2, ...; the half steps of bicgstab are 0.5, 1.5, ... Of k systems, the
        iterations that any of them made; a system that is restarted goes on after the others have stopped.
    residuals : array
        Norms of the recursive residuals relative to those of b; NaN where a system had stopped.
    errors : array or None
        Norms of ``x - x_true`` relative to those of x_true.
    times : (records,) array
        Seconds since the start.
    true_residuals : list of (iteration, column, norm)
        Norms of ``b - A x`` relative to those of b, wherever they were computed: at the start, where a system
        converged or was restarted, and at its end. In twice the working precision unless A is an operator.
    attainable : dict of int to float
        For columns with the status `UNATTAINABLE`: the norm of the residual that rounding errors of x can
        cause, relative to that of b.
    replacements : list of (iteration, column)
        Where the true residual replaced the recursive one, which had drifted away from it.
    status : Status, or list of Status for k systems
        None before the end of the solve.
    interrupted : bool
        Whether Ctrl-C ended the solve.
    info : int, or integer array for k systems
        As returned.
    seconds_per_iteration : float or None
        The mean time of an iteration, without compilation.
    solver, n, dtype
        The solver's name, the number of rows, the type of the vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from linforest_precond import matrices, solvers
    >>> A = matrices.poisson((20, 20))
    >>> history = solvers.History(x_true=np.ones(400))
    >>> x, info = solvers.cg(A, A @ np.ones(400), history=history)
    >>> print(history.status, history.residuals[-1] < 1e-5, history.errors[0])
    converged True 1.0
    """

    def __init__(self, x_true: Array | None = None) -> None:
        self.x_true = x_true
        self.begin("", 0, 1, None, np.ones(1), None)

    def x_true_of(self, b: Array, backend: Backend) -> Array | None:
        """x_true, checked, with the shape (n, k) and the type of b; None where it was not given."""
        if self.x_true is None:
            return None
        n, columns = b.shape
        x_true: Array = checked_vectors("x_true", self.x_true, n, backend)
        if x_true.size != b.size:
            raise ValueError(f"x_true must have b's shape {(n, columns)}, got {tuple(x_true.shape)}")
        if not np.can_cast(x_true.dtype, b.dtype, "same_kind"):
            raise ValueError(f"x_true must be {b.dtype} like the system, got {x_true.dtype}")
        return x_true.reshape(b.shape).astype(b.dtype)

    def begin(
        self,
        solver: str,
        n: int,
        columns: int,
        dtype: DType | None,
        b_norms: Floats,
        true_norm: Floats | float | None,
    ) -> None:
        """Start over; with a true_norm, one or one per column, all records have errors."""
        self.solver, self.n, self.dtype = solver, n, dtype
        self.status: Status | list[Status] | None = None
        self.info: int | npt.NDArray[np.int64] | None = None
        self.true_residuals: list[tuple[float, int, float]] = []
        self.replacements: list[tuple[float, int]] = []
        self.attainable: dict[int, float] = {}
        self.interrupted = False
        self._columns, self._squeeze = columns, columns == 1
        self._b_norms = _divisors(b_norms)
        self._true_norm = None if true_norm is None else _divisors(true_norm)
        self._steps, self._seconds = [np.empty(0)], [np.empty(0)]
        self._residuals, self._errors = [np.empty((0, columns))], [np.empty((0, columns))]

    def add(self, iterations: Floats, seconds: Floats, norms: Floats, errors: Floats | None) -> None:
        """Append records: absolute norms of the residuals, and of the errors, of shape (records, columns)."""
        self._steps.append(np.array(iterations, dtype=float))
        self._seconds.append(np.array(seconds, dtype=float))
        self._residuals.append(norms / self._b_norms)
        if self._true_norm is not None:
            known = np.full_like(norms, np.nan) if errors is None else errors
            self._errors.append(known / self._true_norm)

    def add_true(self, iteration: float, column: int, norm: float) -> None:
        """Record the absolute norm of a true residual."""
        self.true_residuals.append((float(iteration), int(column), float(norm / self._b_norms[column])))

    def add_replacement(self, iteration: float, column: int) -> None:
        """Record that the recursive residual was replaced by the true one."""
        self.replacements.append((float(iteration), int(column)))

    def interrupt(self, ends: Sequence[float], norms: Floats) -> None:
        """Record the absolute norms of the true residuals when Ctrl-C ended the solve."""
        self.interrupted = True
        for column, (end, norm) in enumerate(zip(ends, norms, strict=True)):
            self.add_true(end, column, norm)

    def join(self, runs: Sequence[History]) -> None:
        """Append the records of several runs of the same systems, one after the other."""
        for run in runs:
            start, began = (float(array.max(initial=0.0)) for array in (self.iterations, self.times))
            self.solver, self._true_norm = run.solver, run._true_norm
            self._steps.append(run.iterations + start)
            self._seconds.append(run.times + began)
            self._residuals += run._residuals
            self._errors += run._errors
            self.true_residuals += [(start + step, column, norm) for step, column, norm in run.true_residuals]
            self.replacements += [(start + step, column) for step, column in run.replacements]
            self.attainable |= run.attainable

    def finish(self, info: npt.NDArray[np.int64], squeeze: bool) -> None:
        """Record how the systems ended; with `squeeze`, b was one vector and nothing has columns."""
        statuses = [Status.from_info(number) for number in info]
        self._squeeze = squeeze
        self.status = statuses[0] if squeeze else statuses
        self.info = int(info[0]) if squeeze else np.array(info)

    @property
    def iterations(self) -> Floats:
        return np.concatenate(self._steps)

    @property
    def times(self) -> Floats:
        return np.concatenate(self._seconds)

    @property
    def residuals(self) -> Floats:
        return self._joined(self._residuals)

    @property
    def errors(self) -> Floats | None:
        return None if self._true_norm is None else self._joined(self._errors)

    def _joined(self, batches: list[Floats]) -> Floats:
        values = np.concatenate(batches)
        return values[:, 0] if self._squeeze else values

    @property
    def seconds_per_iteration(self) -> float | None:
        """The mean time of an iteration without compilation; None before the second one.

        The first iteration is left out, and so are others that took ten times as long as their median.
        """
        later = self.iterations >= 1
        widths, gaps = np.diff(self.iterations[later]), np.diff(self.times[later])
        widths, gaps = widths[widths > 0], gaps[widths > 0]
        if not gaps.size:
            return None
        paces = gaps / widths
        usual = paces <= LONG * np.median(paces)
        return float(gaps[usual].sum() / widths[usual].sum())

    def __len__(self) -> int:
        return sum(batch.size for batch in self._steps)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the records: iteration, seconds, residual and error, or residual_0, ... for k systems."""
        columns = self._records()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(np.column_stack(list(columns.values())).tolist())

    def to_pandas(self) -> Any:
        """The records as a DataFrame of pandas: the columns of `to_csv`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import numpy as np
        >>> from linforest_precond import matrices, solvers
        >>> history = solvers.History()
        >>> x, info = solvers.cg(matrices.poisson(50), np.ones(50), history=history)
        >>> history.to_pandas().set_index("iteration")["residual"].plot(logy=True)  # doctest: +SKIP
        """
        pandas = optional_module("pandas", "to_pandas needs pandas: pip install pandas")
        return pandas.DataFrame(self._records())

    def _records(self) -> dict[str, Floats]:
        """The records by the names of their columns."""
        columns = {"iteration": self.iterations, "seconds": self.times}
        for name, values in (("residual", self.residuals), ("error", self.errors)):
            if values is not None and self._squeeze:
                columns[name] = values
            elif values is not None:
                columns |= {f"{name}_{column}": values[:, column] for column in range(self._columns)}
        return columns

    def plot(self, ax: Any = None, label: str | None = None) -> Any:
        """Draw the residuals, and dashed the errors, over the iterations, half steps included.

        A long curve that oscillates is drawn as a band between its extremes, with its middle as a line.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None makes a new figure.
        label : str, optional
            Name of the curves in the legend; the solver's by default.

        Returns
        -------
        matplotlib axes
        """
        ax = _new_axes() if ax is None else ax
        label = self.solver if label is None else label
        for column in range(self._columns):
            name = label if self._squeeze else f"{label}, column {column}"
            steps, values = _known(self.iterations, self._residuals, column)
            marker = "." if steps.size <= MOST_MARKERS else ""
            line = draw_curve(ax, steps, values, marker=marker, label=name)
            if self._true_norm is not None:
                steps, values = _known(self.iterations, self._errors, column)
                look = {"linestyle": "--", "color": line.get_color(), "label": f"{name}, error"}
                draw_curve(ax, steps, values, **look)
        ax.set_yscale("log")
        ax.set_xlabel("iteration")
        ax.set_ylabel("relative norm")
        ax.legend()
        return ax

    def _printout(self) -> Printout:
        if not len(self):
            return Printout.of("history", ("records", "0"))
        curves = [_known(self.iterations, self._residuals, column) for column in range(self._columns)]
        counts = [int(np.ceil(steps[-1])) for steps, _ in curves if steps.size]
        verified = {column: norm for _, column, norm in self.true_residuals}  # the last one of each column
        seconds = self.times[-1]
        systems = "" if self._squeeze else f", {self._columns} systems"
        rows = [
            ("rows", f"{self.n:,}{systems}, {np.dtype(self.dtype)}"),
            ("status", self._status_text()),
            ("iterations", _span(counts, "d")),
            ("first residual", _span([values[0] for _, values in curves if values.size])),
            ("last residual", _span([values[-1] for _, values in curves if values.size])),
            ("true residual", _span(list(verified.values()))),
            ("replacements", str(len(self.replacements))),
        ]
        if self.attainable:
            rows.append(("attainable", _span(list(self.attainable.values()))))
        if self._true_norm is not None:
            errors = [_known(self.iterations, self._errors, column)[1] for column in range(self._columns)]
            rows.append(("error", _span([values[-1] for values in errors if values.size])))
        rows.append(("seconds", f"{seconds:.3g}"))
        if self.seconds_per_iteration is not None:
            rows.append(("ms per iteration", f"{1e3 * self.seconds_per_iteration:.3g}"))
        return Printout.of(f"history of {self.solver}", *rows)

    def _status_text(self) -> str:
        if self.status is None:
            return "interrupted" if self.interrupted else "not ended"
        if isinstance(self.status, Status):
            return str(self.status)
        return ", ".join(f"{self.status.count(status)} {status}" for status in dict.fromkeys(self.status))


def _divisors(norms: npt.ArrayLike) -> Floats:
    """The norms to divide by: 1 instead of 0."""
    norms = np.array(norms, dtype=float)
    return np.where(norms == 0.0, 1.0, norms)


def _known(steps: Floats, batches: list[Floats], column: int) -> tuple[Floats, Floats]:
    """The steps and values of a column where it has values."""
    values = np.concatenate(batches)[:, column]
    known = ~np.isnan(values)
    return steps[known], values[known]


def _span(values: Sequence[float], form: str = ".2e") -> str:
    """The smallest and the largest value of all systems; one number where they agree."""
    if not values:
        return "none"
    least, most = format(min(values), form), format(max(values), form)
    return least if least == most else f"{least} to {most}"


def _new_axes() -> Any:
    advice = "plotting needs matplotlib: pip install 'linforest-precond[study]', or plain matplotlib"
    pyplot = optional_module("matplotlib.pyplot", advice)
    return pyplot.subplots()[1]
