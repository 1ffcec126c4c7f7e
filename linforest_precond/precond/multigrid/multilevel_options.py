"""`MultilevelOptions` checks the options of `multilevel`, and chooses those that are "auto"."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linforest_precond.backends.arguments import as_choice, as_integer
from linforest_precond.precond.multigrid.level_matrix import LevelMatrix
from linforest_precond.precond.multigrid.multigrid_cycle import CYCLES
from linforest_precond.precond.multigrid.pairwise_aggregation import WEIGHTS
from linforest_precond.precond.multigrid.smoothers import LINES, SMOOTHERS
from linforest_precond.precond.storage import schema

COARSENINGS = "smoothed_aggregation", "matching", "paths"
# The printed reasons of automatic choices.
NOT_DOMINANT = "neither Hermitian nor diagonally dominant: along paths"
LONG_ROWS = "rows sum to many times the diagonal: Chebyshev"
ADAPTIVE = "adaptive candidates"
REASONS = NOT_DOMINANT, LONG_ROWS, ADAPTIVE
# The most smoothing sweeps.
MOST_SWEEPS = 1000
AUTO = "auto"
CHOICES = {
    "coarsening": (AUTO, *COARSENINGS),
    "smoother": (AUTO, *SMOOTHERS),
    "cycle": (AUTO, *CYCLES),
    "weights": WEIGHTS,
}
LEAST = {"matchings": 1, "max_coarse": 1, "max_levels": 1, "presmooth": 0, "postsmooth": 0}
MOST = {"presmooth": MOST_SWEEPS, "postsmooth": MOST_SWEEPS}
OPTIONS_SCHEMA = schema.FieldsSpec(
    {
        "coarsening": schema.one_of(*COARSENINGS),
        "smoother": schema.one_of(*SMOOTHERS),
        "cycle": schema.one_of(*CYCLES),
        "weights": schema.one_of(*WEIGHTS),
        **{
            name: schema.integer(least, MOST.get(name, schema.LARGEST_INTEGER))
            for name, least in LEAST.items()
        },
        "smooth_prolongation": bool,
        "strength": schema.real(0.0, 1.0),
        "seed": schema.integer(0, 2**64 - 1),
        "reasons": schema.items(schema.one_of(*REASONS), length=(0, len(REASONS))),
    }
)
# Nonsymmetric matrices are aggregated if at least this share of their rows is diagonally dominant.
LEAST_DOMINANT_SHARE = 0.9
# Eigenvalues are estimated where rows' sums of magnitudes exceed this multiple of the diagonal on average.
LARGEST_ROW_RATIO = 2.5
# Matchings of a level. Smoothed prolongators need larger aggregates, or the Galerkin products fill up.
MATCHINGS = 2
SMOOTHED_MATCHINGS = 3
# A coupling is strong from this share of the strongest one.
STRENGTHS = {"smoothed_aggregation": 0.4, "matching": 0.5, "paths": 0.5}


@dataclass(frozen=True)
class MultilevelOptions(schema.Stored):
    """The checked options of `multilevel`; their names are keys in files.

    Until `for_matrix` has chosen, `coarsening`, `smoother` and `cycle` may be "auto", and `strength` NaN.
    """

    coarsening: str
    matchings: int
    smoother: str
    cycle: str
    max_coarse: int
    max_levels: int
    smooth_prolongation: bool
    presmooth: int
    postsmooth: int
    weights: str
    strength: float
    seed: int
    reasons: tuple[str, ...] = ()  # of the automatic choices

    schema = OPTIONS_SCHEMA

    @classmethod
    def checked(cls, **given: Any) -> MultilevelOptions:
        options = dict(given)
        for name, allowed in CHOICES.items():
            as_choice(name, given[name], allowed)
        options["coarsening"] = _coarsening_of(given)
        if given["matchings"] is None:
            options["matchings"] = SMOOTHED_MATCHINGS if given["smooth_prolongation"] else MATCHINGS
        for name in LEAST:
            options[name] = as_integer(name, options[name], LEAST[name], MOST.get(name))
        if not options["presmooth"] + options["postsmooth"]:
            raise ValueError("presmooth and postsmooth must not both be 0: nothing would smooth")
        options["seed"] = as_integer("seed", given["seed"]) % 2**64
        options["smooth_prolongation"] = bool(given["smooth_prolongation"])
        options["strength"] = _checked_strength(given["strength"])
        return cls(**options)

    def for_matrix(self, matrix: LevelMatrix) -> MultilevelOptions:
        """The options with all choices made, by the symmetry of the matrix and its row sums."""
        reasons: list[str] = []
        coarsening, smoother, cycle, strength = self.coarsening, self.smoother, self.cycle, self.strength
        if coarsening == AUTO:
            aggregates = matrix.hermitian or matrix.facts.dominant_share >= LEAST_DOMINANT_SHARE
            coarsening = "smoothed_aggregation" if aggregates else "paths"
            if not aggregates:
                reasons.append(NOT_DOMINANT)
        if smoother == AUTO:
            smoother = _smoother_for(matrix, coarsening)
            if smoother == "chebyshev":
                reasons.append(LONG_ROWS)
        if cycle == AUTO:
            smoothed = coarsening == "smoothed_aggregation" or self.smooth_prolongation
            # One visit of each level for smoothed prolongators, and for nonsymmetric matrices.
            cycle = "V" if smoothed or not matrix.hermitian else "K"
        if math.isnan(strength):
            strength = STRENGTHS[coarsening]
        return replace(
            self,
            coarsening=coarsening,
            smoother=smoother,
            cycle=cycle,
            strength=strength,
            reasons=tuple(reasons),
        )

    def coarsens(self, matrix: LevelMatrix) -> bool:
        """Whether a finest matrix is not the only one."""
        return matrix.n > self.max_coarse and self.max_levels > 1

    @property
    def stall_cause(self) -> str:
        """The end of the warning where coarsening stalls."""
        cause = "so few are coupled strongly that {left} would stay"
        if self.weights == "magnitude":
            return cause
        return cause + '; try weights="magnitude", or a smaller strength'


def _smoother_for(matrix: LevelMatrix, coarsening: str) -> str:
    """The smoother: l1-Jacobi damps too much where rows sum to many times the diagonal."""
    if coarsening == "paths" and not matrix.hermitian:
        return "tridiagonal"
    if coarsening != "smoothed_aggregation":
        return "jacobi"
    definite = matrix.definite and matrix.facts.mean_ratio > LARGEST_ROW_RATIO
    return "chebyshev" if definite else "l1_jacobi"


def _coarsening_of(given: dict[str, Any]) -> str:
    """The coarsening that other options imply where it is "auto"; only "matching" can be smoothed."""
    smooth, coarsening = bool(given["smooth_prolongation"]), str(given["coarsening"])
    if smooth and coarsening not in (AUTO, "matching"):
        raise ValueError(
            f'smooth_prolongation is for coarsening="matching"; "{coarsening}" has weights of its own'
        )
    if coarsening != AUTO:
        return coarsening
    if given["smoother"] in LINES and not smooth:
        return "paths"
    return "matching" if smooth or given["matchings"] is not None else AUTO


def _checked_strength(given: Any) -> float:
    """The strength; NaN where none is given."""
    if given is None:
        return math.nan
    if not isinstance(given, int | float | np.number) or not 0 <= given <= 1:
        raise ValueError(f"strength must lie in [0, 1], got {given!r}")
    return float(given)
