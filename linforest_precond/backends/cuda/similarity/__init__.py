"""Fuzzy set joins: filter of candidate pairs, weights between elements, a bipartite matching per pair."""

from . import certificates as certificates
from . import element_weights as element_weights
from . import set_matchings as set_matchings
from . import token_filter as token_filter
