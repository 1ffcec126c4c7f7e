"""Graph algorithms on sparse matrices: [0,n]-factors, linear forests, matchings, csgraph, orderings.

Factors and linear forests
--------------------------

.. autosummary::
   :toctree: generated

   factor
   greedy_factor
   linear_forest
   identity_coverage

Matchings and coarsening
------------------------

.. autosummary::
   :toctree: generated

   matching
   is_matching
   is_maximal_matching
   coarsen
   coarsening_hierarchy

Components, searches, trees and sets
------------------------------------

.. autosummary::
   :toctree: generated

   connected_components
   strongly_connected_components
   breadth_first_order
   bfs_levels
   minimum_spanning_tree
   maximum_spanning_forest
   maximal_independent_set
   vertex_coloring
   degrees
   pagerank
   label_propagation
   tree_roots

Traffic matrices
----------------

.. autosummary::
   :toctree: generated

   read_traffic
   traffic_matrix
   TrafficMatrix
   traffic_statistics
   TrafficStatistics
   write_traffic

Checkers of results
-------------------

.. autosummary::
   :toctree: generated

   is_component_labelling
   is_spanning_forest
   is_maximal_independent_set
   is_coloring

Orderings
---------

.. autosummary::
   :toctree: generated

   reverse_cuthill_mckee
   cuthill_mckee
   BatchOptions
   pseudo_peripheral_node
   minimum_degree
   fill
   Fill
   bandwidth
   profile
   wavefront
   Wavefront
   order
   refine_ordering
   linear_gap
   log_gap
   linear_arrangement
   log_arrangement
"""

from types import ModuleType as _ModuleType

from linforest_precond.backends.batch_options import BatchOptions as BatchOptions
from linforest_precond.graph.csgraph.breadth_first import bfs_levels as bfs_levels
from linforest_precond.graph.csgraph.breadth_first import breadth_first_order as breadth_first_order
from linforest_precond.graph.csgraph.checks import is_coloring as is_coloring
from linforest_precond.graph.csgraph.checks import is_component_labelling as is_component_labelling
from linforest_precond.graph.csgraph.checks import is_maximal_independent_set as is_maximal_independent_set
from linforest_precond.graph.csgraph.checks import is_spanning_forest as is_spanning_forest
from linforest_precond.graph.csgraph.coloring import vertex_coloring as vertex_coloring
from linforest_precond.graph.csgraph.components import connected_components as connected_components
from linforest_precond.graph.csgraph.degrees import degrees as degrees
from linforest_precond.graph.csgraph.independent_set import maximal_independent_set as maximal_independent_set
from linforest_precond.graph.csgraph.label_propagation import label_propagation as label_propagation
from linforest_precond.graph.csgraph.pagerank import pagerank as pagerank
from linforest_precond.graph.csgraph.spanning_forest import maximum_spanning_forest as maximum_spanning_forest
from linforest_precond.graph.csgraph.spanning_forest import minimum_spanning_tree as minimum_spanning_tree
from linforest_precond.graph.csgraph.strong_components import (
    strongly_connected_components as strongly_connected_components,
)
from linforest_precond.graph.csgraph.tree_roots import tree_roots as tree_roots
from linforest_precond.graph.forest.bands import identity_coverage as identity_coverage
from linforest_precond.graph.forest.factor import factor as factor
from linforest_precond.graph.forest.factor import greedy_factor as greedy_factor
from linforest_precond.graph.forest.linear_forest import linear_forest as linear_forest
from linforest_precond.graph.matching.checks import is_matching as is_matching
from linforest_precond.graph.matching.checks import is_maximal_matching as is_maximal_matching
from linforest_precond.graph.matching.coarsening import coarsen as coarsen
from linforest_precond.graph.matching.coarsening import coarsening_hierarchy as coarsening_hierarchy
from linforest_precond.graph.matching.matching import matching as matching
from linforest_precond.graph.reordering.cuthill_mckee import cuthill_mckee as cuthill_mckee
from linforest_precond.graph.reordering.cuthill_mckee import pseudo_peripheral_node as pseudo_peripheral_node
from linforest_precond.graph.reordering.cuthill_mckee import reverse_cuthill_mckee as reverse_cuthill_mckee
from linforest_precond.graph.reordering.envelope import Wavefront as Wavefront
from linforest_precond.graph.reordering.envelope import bandwidth as bandwidth
from linforest_precond.graph.reordering.envelope import profile as profile
from linforest_precond.graph.reordering.envelope import wavefront as wavefront
from linforest_precond.graph.reordering.gap_metrics import linear_arrangement as linear_arrangement
from linforest_precond.graph.reordering.gap_metrics import linear_gap as linear_gap
from linforest_precond.graph.reordering.gap_metrics import log_arrangement as log_arrangement
from linforest_precond.graph.reordering.gap_metrics import log_gap as log_gap
from linforest_precond.graph.reordering.minimum_degree import fill as fill
from linforest_precond.graph.reordering.minimum_degree import minimum_degree as minimum_degree
from linforest_precond.graph.reordering.refinement import refine_ordering as refine_ordering
from linforest_precond.graph.reordering.vertex_orders import order as order
from linforest_precond.graph.traffic.statistics import traffic_statistics as traffic_statistics
from linforest_precond.graph.traffic.traffic_files import read_traffic as read_traffic
from linforest_precond.graph.traffic.traffic_files import write_traffic as write_traffic
from linforest_precond.graph.traffic.traffic_matrix import traffic_matrix as traffic_matrix
from linforest_precond.graph.traffic.traffic_records import TrafficMatrix as TrafficMatrix
from linforest_precond.graph.traffic.traffic_records import TrafficStatistics as TrafficStatistics
from linforest_precond.package_imports import suggest_names as _suggest_names
from linforest_precond.records.fill import Fill as Fill

# The functions and classes, without the subpackages that they are defined in.
__all__ = [name for name, value in sorted(globals().items()) if not isinstance(value, _ModuleType)]
__all__ = [name for name in __all__ if not name.startswith("_")]
# Of SciPy, networkx and MATLAB.
_OTHER_NAMES = {
    "bfs": "breadth_first_order", "rcm": "reverse_cuthill_mckee", "symrcm": "reverse_cuthill_mckee",
    "amd": "minimum_degree", "symamd": "minimum_degree", "mis": "maximal_independent_set",
    "scc": "strongly_connected_components", "max_weight_matching": "matching",
    "maximal_matching": "matching", "greedy_color": "vertex_coloring", "coloring": "vertex_coloring",
}  # fmt: skip
_suggest_names(__name__, __all__, _OTHER_NAMES)


def __dir__() -> list[str]:
    return __all__
