"""The options of `multilevel`: checked, and chosen where they are "auto"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linforest_precond.arguments import as_integer
from linforest_precond.precond.multigrid.multigrid_cycle import CYCLES
from linforest_precond.precond.multigrid.multilevel_schema import COARSENINGS, MOST_SWEEPS
from linforest_precond.precond.multigrid.pairwise_aggregation import WEIGHTS
from linforest_precond.precond.multigrid.smoothers import LINES, SMOOTHERS

AUTO = "auto"
CHOICES = {
    "coarsening": (AUTO, *COARSENINGS),
    "smoother": (AUTO, *SMOOTHERS),
    "cycle": (AUTO, *CYCLES),
    "weights": WEIGHTS,
}
LEAST = {"matchings": 1, "max_coarse": 1, "max_levels": 1, "presmooth": 0, "postsmooth": 0}
MOST = {"presmooth": MOST_SWEEPS, "postsmooth": MOST_SWEEPS}
# The matchings of a level, and the share of the strongest coupling from which on one is strong.
MATCHINGS = 2
STRENGTHS = {"smoothed_aggregation": 0.4, "matching": 0.5, "paths": 0.5}


@dataclass(frozen=True)
class MultilevelOptions:
    """The checked options of `multilevel`; their names are keys in files."""

    coarsening: str
    matchings: int
    smoother: str
    max_coarse: int
    max_levels: int
    smooth_prolongation: bool
    presmooth: int
    postsmooth: int
    weights: str
    strength: float
    seed: int

    @classmethod
    def checked(cls, **given: Any) -> tuple[MultilevelOptions, str]:
        """The options, and the cycle."""
        options = dict(given)
        _check_choices(given)
        options["coarsening"] = _coarsening_of(given)
        if given["matchings"] is None:
            options["matchings"] = MATCHINGS
        for name in LEAST:
            options[name] = _checked_number(name, options[name])
        if not options["presmooth"] + options["postsmooth"]:
            raise ValueError("presmooth and postsmooth must not both be 0: nothing would smooth")
        options["seed"] = as_integer("seed", given["seed"]) % 2**64
        options["smooth_prolongation"] = bool(given["smooth_prolongation"])
        options["strength"] = _strength_of(given["strength"], options["coarsening"])
        if given["smoother"] == AUTO:
            aggregates = options["coarsening"] == "smoothed_aggregation"
            options["smoother"] = "l1_jacobi" if aggregates else "jacobi"
        cycle = options.pop("cycle")
        return cls(**options), cycle

    def cycle_for(self, cycle: str, hermitian: bool) -> str:
        """The cycle: smoothed prolongators, and nonsymmetric matrices, need one visit of each level."""
        if cycle != AUTO:
            return cycle
        one_visit = self.coarsening == "smoothed_aggregation" or self.smooth_prolongation or not hermitian
        return "V" if one_visit else "K"

    @property
    def stall_cause(self) -> str:
        """The end of the warning where coarsening stalls."""
        cause = "so few are coupled strongly that {left} would stay"
        if self.weights == "magnitude":
            return cause
        return cause + '; try weights="magnitude", or a smaller strength'


def _check_choices(given: dict[str, Any]) -> None:
    for name, allowed in CHOICES.items():
        if given[name] not in allowed:
            wanted = ", ".join(map(repr, allowed))
            raise ValueError(f"{name} must be one of {wanted}, got {given[name]!r}")


def _checked_number(name: str, given: Any) -> int:
    number = as_integer(name, given)
    if number < LEAST[name]:
        raise ValueError(f"{name} must be at least {LEAST[name]}, got {number}")
    if number > MOST.get(name, number):
        raise ValueError(f"{name} must be at most {MOST[name]}, got {number}")
    return number


def _coarsening_of(given: dict[str, Any]) -> str:
    """What the other options ask for, where it is "auto"; `smooth_prolongation` is of "matching"."""
    smooth, coarsening = bool(given["smooth_prolongation"]), str(given["coarsening"])
    if smooth and coarsening not in (AUTO, "matching"):
        raise ValueError(
            f'smooth_prolongation is for coarsening="matching"; "{coarsening}" has weights of its own'
        )
    if coarsening != AUTO:
        return coarsening
    if smooth or given["matchings"] is not None:
        return "paths" if given["smoother"] in LINES and not smooth else "matching"
    return "paths" if given["smoother"] in LINES else "smoothed_aggregation"


def _strength_of(given: Any, coarsening: str) -> float:
    if given is None:
        return STRENGTHS[coarsening]
    if not isinstance(given, int | float | np.number) or not 0 <= given <= 1:
        raise ValueError(f"strength must lie in [0, 1], got {given!r}")
    return float(given)
