"""The options of the study of greedy matching."""

from __future__ import annotations

from dataclasses import dataclass

from linforest_precond.study.settings import Settings

# Random orders of the vertices over which qualities are averaged; the paper has 32.
QUICK_PERMUTATIONS, PAPER_PERMUTATIONS = 8, 32


@dataclass(frozen=True)
class MatchingSettings(Settings):
    """The options of the study; `permutations` None takes a few, or the paper's 32 in a full one."""

    permutations: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations is not None and self.permutations < 1:
            raise ValueError(f"permutations must be at least 1 or None, got {self.permutations}")

    @property
    def orders(self) -> int:
        """The number of random orders of the vertices.

        Examples
        --------
        >>> from linforest_precond.study.matching.settings import MatchingSettings
        >>> [MatchingSettings(full=full).orders for full in (False, True)]
        [8, 32]
        """
        if self.permutations is not None:
            return self.permutations
        return PAPER_PERMUTATIONS if self.full else QUICK_PERMUTATIONS
