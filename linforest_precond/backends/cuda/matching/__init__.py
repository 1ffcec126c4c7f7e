"""Matchings, and aggregates of matched vertices."""

from . import aggregates as aggregates
from . import auction as auction
from . import balancing as balancing
from . import best_edges as best_edges
from . import locally_dominant as locally_dominant
from . import matched_edge_values as matched_edge_values
from . import out_of_core_matching as out_of_core_matching
from . import proposals as proposals
from . import suitor as suitor
