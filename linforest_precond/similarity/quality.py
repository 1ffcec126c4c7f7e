"""Recall and precision of a join against the exact one."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.records.printing import Printed, Printout
from linforest_precond.similarity.join_records import JoinResult


@dataclass(frozen=True)
class JoinQuality(Printed):
    """
    How a join compares with the exact one.

    Attributes
    ----------
    recall : float
        The share of the exact join's pairs that were found; 1 if it has none.
    precision : float
        The share of the pairs found that are in the exact join; 1 if none were found.
    missed, added : int
        Pairs of the exact join that were not found, and pairs found that are not in it.
    """

    recall: float
    precision: float
    missed: int
    added: int

    def _printout(self) -> Printout:
        return Printout.of(
            "against the exact join",
            ("recall", f"{self.recall:.4f} ({self.missed:,} pairs missed)"),
            ("precision", f"{self.precision:.4f} ({self.added:,} pairs added)"),
        )


def join_quality(found: JoinResult, exact: JoinResult) -> JoinQuality:
    """
    Recall and precision of a join.

    Parameters
    ----------
    found : JoinResult
        The join to assess.
    exact : JoinResult
        The join of the same sets with ``matching="exact"``.

    Returns
    -------
    JoinQuality
        Recall, precision, and the numbers of pairs behind them.

    Examples
    --------
    >>> import linforest_precond as lf
    >>> sets = lf.similarity.noisy_sets(40, seed=1)
    >>> exact = lf.similarity.fuzzy_join(sets, matching="exact")
    >>> lf.similarity.join_quality(lf.similarity.fuzzy_join(sets), exact).precision
    1.0
    """
    ours, theirs = set(found.pairs), set(exact.pairs)
    common = len(ours & theirs)
    recall = common / len(theirs) if theirs else 1.0
    precision = common / len(ours) if ours else 1.0
    return JoinQuality(recall, precision, len(theirs) - common, len(ours) - common)
