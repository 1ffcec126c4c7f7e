"""Fuzzy set similarity joins: pairs of sets of strings whose elements match despite noise."""

from linforest_precond.similarity.join_records import JoinQuality as JoinQuality
from linforest_precond.similarity.join_records import JoinResult as JoinResult
from linforest_precond.similarity.join_records import SetMatching as SetMatching
from linforest_precond.similarity.join_records import join_quality as join_quality
from linforest_precond.similarity.noisy_sets import ambiguous_sets as ambiguous_sets
from linforest_precond.similarity.noisy_sets import noisy_sets as noisy_sets
from linforest_precond.similarity.one_pair import match_sets as match_sets
from linforest_precond.similarity.set_files import read_sets as read_sets
from linforest_precond.similarity.set_join import fuzzy_join as fuzzy_join

__all__ = [
    "JoinQuality",
    "JoinResult",
    "SetMatching",
    "ambiguous_sets",
    "fuzzy_join",
    "join_quality",
    "match_sets",
    "noisy_sets",
    "read_sets",
]


def __dir__() -> list[str]:
    return __all__
