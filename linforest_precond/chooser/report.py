"""The report of `solve` and `auto`: facts of A, trials with their residuals, the reason for the choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linforest_precond.backends.annotations import Array
from linforest_precond.chooser.facts import Facts
from linforest_precond.records.printing import Printed, Printout, as_columns, escape
from linforest_precond.solvers.history import History

if TYPE_CHECKING:
    from linforest_precond.chooser.trials import Trial

HEAD = "candidate", "solver", "setup", "iterations", "from", "to", "predicted", "seconds", "outcome"


@dataclass(frozen=True)
class TrialReport:
    """One line of the table; seconds are those of the cost model.

    Attributes
    ----------
    name, call, solver
        The candidate, how it is made, and the Krylov method; empty where factors solved the system.
    setup, iteration, seconds
        Of the setup, of an iteration, and in all.
    iterations
        Iterations made.
    first, last
        The largest relative residual of all systems, at the start and the smallest later.
    predicted
        The seconds in all that were predicted when it was last compared with others; NaN if it never was.
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
    seconds: float
    iterations: int
    first: float
    last: float
    predicted: float
    outcome: str
    history: History

    @classmethod
    def of(cls, trial: Trial) -> TrialReport:
        return cls(
            trial.candidate.name,
            trial.candidate.call,
            trial.solver,
            trial.setup,
            trial.iteration,
            trial.seconds,
            trial.iterations,
            trial.relative_target * 10 ** trial.digits[0],
            trial.reached,
            trial.predicted,
            "paused" if trial.status is None else str(trial.status),
            trial.history,
        )

    def cells(self) -> tuple[str, ...]:
        predicted = "" if self.predicted != self.predicted else f"{self.predicted:.2g} s"
        return (
            self.name, self.solver or "none", f"{self.setup:.2g} s", f"{self.iterations:,}",
            f"{self.first:.1e}", f"{self.last:.1e}", predicted, f"{self.seconds:.2g} s", self.outcome,
        )  # fmt: skip

    def sentence(self) -> str:
        """For a log."""
        ended = f"{self.outcome} after {self.iterations:,} iteration{'s' * (self.iterations != 1)}"
        return f"{self.method}: {ended}, relative residual {self.last:.1e}"

    @property
    def method(self) -> str:
        """The candidate and the Krylov method, in words."""
        return f"{self.name} with {self.solver}" if self.solver else self.name


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
    seconds : float
        Of all setups and iterations by the cost model, of runs that were given up, too.
    advice : str
        What to do where nothing converged.

    Examples
    --------
    >>> import numpy as np
    >>> import linforest_precond as lf
    >>> x, info = lf.solve(lf.matrices.poisson((100, 100)), np.ones(10_000), calibration="default")
    >>> info.report.chosen.name, info.report.chosen.solver
    ('direct', '')
    """

    def __init__(self, x_true: Array | None = None) -> None:
        self.x_true = x_true
        self.fill(None, [], [], None, "")

    def fill(
        self,
        facts: Facts | Callable[[], Facts] | None,
        trials: list[TrialReport],
        events: list[str],
        chosen: TrialReport | None,
        advice: str,
    ) -> None:
        """Start over with the results of a solve; facts that it did not need are found when asked for."""
        self._facts, self.trials, self.events = facts, trials, events
        self.chosen, self.advice = chosen, advice

    @property
    def facts(self) -> Facts | None:
        if callable(self._facts):
            self._facts = self._facts()
        return self._facts

    @property
    def seconds(self) -> float:
        return sum(trial.seconds for trial in self.trials)

    @property
    def history(self) -> History | None:
        """The residuals of the candidate that converged, or of the last one."""
        last = self.chosen or (self.trials[-1] if self.trials else None)
        return None if last is None else last.history

    def _printout(self) -> Printout:
        """What is known of the matrix."""
        return Printout.of(
            "solve", *([("trials", "0")] if self.facts is None else facts_in_words(self.facts))
        )

    def __str__(self) -> str:
        if self.facts is None:
            return super().__str__()
        rows = [HEAD, *(trial.cells() for trial in self.trials)]
        trials = as_columns(rows, words=(0, 1, len(HEAD) - 1), indent="  ")
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
        if self.chosen is None:
            return f"not solved. {self.advice}"
        solver = f" with {self.chosen.solver}" if self.chosen.solver else ""
        return f"solved by {self.chosen.call}{solver}, about {self.seconds:.2g} s"


def _html_row(tag: str, cells: tuple[str, ...]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in cells)}</tr>"


def facts_in_words(facts: Facts) -> list[tuple[str, str]]:
    """What a matrix shows, as lines for print."""
    diagonal = "positive" if facts.positive_diagonal else "not positive"
    if facts.needs_matching:
        diagonal = f"zero in {facts.zero_diagonal:,} rows, tiny in {facts.tiny_diagonal:,}"
    return [
        ("rows", f"{facts.rows:,}, with {facts.entries:,} entries"),
        ("symmetry", facts.rounding or ("Hermitian" if facts.hermitian else "none")),
        ("diagonal", diagonal),
        ("dominant rows", f"{facts.dominant_share:.0%}"),
        ("couplings", f"{facts.m_matrix_share:.0%} of the rows have couplings of one sign; two per row "
         f"hold at most {facts.heavy_share:.0%} of the weight"),
        *([("null space", "the constants: A is singular")] if facts.centered else []),
        *([("structural rank", f"{facts.structural_rank:,}: A is singular")]
          if facts.structural_rank < facts.rows else []),
    ]  # fmt: skip
