"""Matchings, and aggregates of matched vertices."""

from . import aggregates as aggregates
from . import auction as auction
from . import augmenting_paths as augmenting_paths
from . import balancing as balancing
from . import greedy_matching as greedy_matching
from . import locally_dominant as locally_dominant
from . import matched_edge_values as matched_edge_values
from . import out_of_core_matching as out_of_core_matching
from . import paz_schwartzman as paz_schwartzman
from . import proposals as proposals
from . import suitor as suitor
