"""What `solve` and `auto` tried, how far each candidate came, and why one was taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.facts import Facts
from linforest_precond.records.printing import Printed, Printout, escape
from linforest_precond.solvers.history import History

if TYPE_CHECKING:
    from linforest_precond.chooser.trials import Trial

HEAD = (
    "candidate",
    "solver",
    "setup",
    "iterations",
    "from",
    "to",
    "digits/iteration",
    "predicted",
    "work",
    "outcome",
)


@dataclass(frozen=True)
class TrialReport:
    """One line of the table; work is in products with A.

    Attributes
    ----------
    name, call, solver
        The candidate, how it is made, and the Krylov method.
    setup, iteration, work
        Counted work of the setup, of an iteration, and in all.
    iterations
        Iterations made.
    first, last
        The largest relative residual of all systems, at the start and the smallest later.
    predicted
        The total work that was predicted when it was last compared with others; NaN if it never was.
    outcome
        "converged", "paused", or why it ended.
    history
        The residuals of all iterations.
    """

    name: str
    call: str
    solver: str
    setup: float
    iteration: float
    work: float
    iterations: int
    first: float
    last: float
    rate: float
    predicted: float
    outcome: str
    history: History

    @classmethod
    def of(cls, trial: Trial, product: float) -> TrialReport:
        iterations, first = trial.iterations, trial.own_digits[0]
        return cls(
            trial.candidate.name,
            trial.candidate.call,
            trial.method,
            trial.setup / product,
            trial.iteration / product,
            trial.work / product,
            iterations,
            trial.relative_target * 10**first,
            trial.reached,
            trial.won / max(iterations, 1),
            trial.predicted / product,
            trial.outcome,
            trial.history,
        )

    def cells(self) -> tuple[str, ...]:
        predicted = "" if self.predicted != self.predicted else f"{self.predicted:,.0f}"
        return (
            self.name, self.solver, f"{self.setup:,.0f}", f"{self.iterations:,}", f"{self.first:.1e}",
            f"{self.last:.1e}", f"{self.rate:.3f}", predicted, f"{self.work:,.0f}", self.outcome,
        )  # fmt: skip


class SolveReport(Printed):
    """
    What `linforest_precond.solve` tried, and why it took what it took: filled by a solve that gets it.

    Parameters
    ----------
    x_true : array, optional
        The solution, of b's shape and on its device; with it, histories have errors too.

    Attributes
    ----------
    facts : Facts
        What the matrix shows: symmetry, diagonal, dominance, couplings.
    trials : list of TrialReport
        All candidates that were tried, in order.
    events : list of str
        The changes of the choice, in order.
    chosen : TrialReport or None
        The one that converged; None where none did.
    work : float
        All work, in products with A: setups, iterations, and trials that were given up.
    advice : str
        What to do where nothing converged.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> report = lf.SolveReport()
    >>> x, info = lf.solve(lf.matrices.poisson((20, 20)), np.ones(400), report=report)
    >>> report.chosen.name, report.chosen.solver
    ('ilu', 'cg')
    """

    def __init__(self, x_true: Array | None = None) -> None:
        self.x_true = x_true
        self.fill(None, [], [], None, "")

    def fill(
        self,
        facts: Facts | None,
        trials: list[TrialReport],
        events: list[str],
        chosen: TrialReport | None,
        advice: str,
    ) -> None:
        """Start over with the results of a solve."""
        self.facts, self.trials, self.events, self.chosen, self.advice = facts, trials, events, chosen, advice

    @property
    def work(self) -> float:
        return sum(trial.work for trial in self.trials)

    @property
    def history(self) -> History | None:
        """The residuals of the candidate that converged, or of the last one."""
        last = self.chosen or (self.trials[-1] if self.trials else None)
        return None if last is None else last.history

    def _printout(self) -> Printout:
        """What is known of the matrix."""
        return Printout.of("solve", *([("trials", "0")] if self.facts is None else self.facts.described()))

    def __str__(self) -> str:
        if self.facts is None:
            return super().__str__()
        trials = _table([HEAD, *(trial.cells() for trial in self.trials)])
        events = [f"  {event}" for event in self.events]
        return "\n".join([super().__str__(), trials, *events, self._conclusion()])

    def __repr__(self) -> str:
        return "<solve; trials 0>" if self.facts is None else f"<solve; {self._conclusion()}>"

    def _repr_html_(self) -> str:
        if self.facts is None:
            return super()._repr_html_()
        rows = [_html_row("th", HEAD), *(_html_row("td", trial.cells()) for trial in self.trials)]
        told = "<br>".join(map(escape, [*self.events, self._conclusion()]))
        return f"{super()._repr_html_()}<table>{''.join(rows)}</table><p>{told}</p>"

    def _conclusion(self) -> str:
        unit = "products with A"
        if self.chosen is None:
            return f"not solved, after work of {self.work:,.0f} {unit}. {self.advice}"
        return (
            f"solved by {self.chosen.call} with {self.chosen.solver}: work of {self.work:,.0f} {unit} in all"
        )


def _html_row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"


def _table(rows: list[tuple[Any, ...]]) -> str:
    """Cells in columns, words to the left and numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    words = (0, 1, len(widths) - 1)
    lines = (
        "  "
        + "  ".join(c.ljust(w) if i in words else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths)))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
