"""Records of joins, of matchings between two sets, and of recall and precision."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.arguments import shown
from linforest_precond.backends.user_warnings import named_arguments
from linforest_precond.records.printing import Printed, Printout
from linforest_precond.records.read_only import ReadOnlyArrays


@dataclass(frozen=True, eq=False, repr=False)
class JoinResult(ReadOnlyArrays, Printed):
    """Similar pairs of sets, ordered by their numbers.

    Attributes
    ----------
    left, right : array of int64
        Numbers of the sets; in a self-join, ``left < right``.
    overlap : array of float64
        The weight of the matching between the elements of the two sets.
    overlap_bound : array of float64
        An upper bound on the weight of every matching: with ``bound="upper"`` the certificate from the duals,
        with ``bound="matching"`` one that costs nothing, at most 2 + epsilon times the overlap.
    similarity, similarity_bound : array of float64
        ``overlap / (|R| + |S| - overlap)``, and the same for the bound.
    compared : int
        Pairs of sets that the join is about.
    candidates : int
        Pairs whose prefixes have a common token and whose sizes fit.
    verified : int
        Candidates that passed the filter of common tokens.
    filter_seconds, verify_seconds : float
        Time for the candidates, and for their verification.
    """

    left: Array
    right: Array
    overlap: Array
    overlap_bound: Array
    similarity: Array
    similarity_bound: Array
    compared: int
    candidates: int
    verified: int
    filter_seconds: float
    verify_seconds: float

    def __len__(self) -> int:
        return int(self.left.size)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The similar pairs as tuples."""
        return list(zip(self.left.tolist(), self.right.tolist()))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the pairs: left, right, similarity and similarity_bound."""
        columns = self.left, self.right, self.similarity, self.similarity_bound
        with open(path, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(("left", "right", "similarity", "similarity_bound"))
            lines.writerows(zip(*(column.tolist() for column in columns)))

    def _printout(self) -> Printout:
        return Printout.of(
            f"fuzzy join: {len(self):,} similar pair{'s' * (len(self) != 1)}",
            ("pairs of sets", f"{self.compared:,}"),
            ("candidates", f"{self.candidates:,}"),
            ("verified", f"{self.verified:,}"),
            ("filter", f"{self.filter_seconds:.3g} s"),
            ("verification", f"{self.verify_seconds:.3g} s"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class SetMatching(ReadOnlyArrays, Printed):
    """The matching between the elements of two sets, and its certificate.

    Attributes
    ----------
    left, right : tuple of str
        The elements of the sets, in the order of their code points: rows and columns of `weights`.
    weights : array of float64
        Similarities of the elements.
    mates : array of int32
        The column that each row is matched with, or -1.
    left_duals, right_duals : array of float64
        Feasible duals: ``weights[i, j] <= left_duals[i] + right_duals[j]`` up to rounding. None with
        ``matching="exact"``.
    overlap, overlap_bound : float
        The weight of the matching, and an upper bound on that of every matching.
    similarity, similarity_bound : float
        ``overlap / (|R| + |S| - overlap)``, and the same for the bound.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    weights: Array
    mates: Array
    left_duals: Array | None
    right_duals: Array | None
    overlap: float
    overlap_bound: float
    similarity: float
    similarity_bound: float

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """The matched elements with their similarities."""
        return [
            (self.left[row], self.right[column], float(self.weights[row, column]))
            for row, column in enumerate(self.mates.tolist())
            if column >= 0
        ]

    def _printout(self) -> Printout:
        rows = [(f"{a} - {b}", f"{weight:.3f}") for a, b, weight in self.pairs]
        return Printout.of(f"similarity {self.similarity:.4f}, at most {self.similarity_bound:.4f}", *rows)


@dataclass(frozen=True)
class JoinQuality(Printed):
    """How a join compares with the exact one.

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


@named_arguments
def join_quality(found: JoinResult, exact: JoinResult) -> JoinQuality:
    """Recall and precision of a join.

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
    for name, join in (("found", found), ("exact", exact)):
        if not isinstance(join, JoinResult):
            raise TypeError(f"{name} must be a JoinResult of fuzzy_join, got {shown(join)}")
    ours, theirs = set(found.pairs), set(exact.pairs)
    common = len(ours & theirs)
    recall = common / len(theirs) if theirs else 1.0
    precision = common / len(ours) if ours else 1.0
    return JoinQuality(recall, precision, len(theirs) - common, len(ours) - common)
