"""Graph algorithms on sparse matrices: factors, linear forests, orderings."""

from linforest_precond.graph.coarsening import coarsen as coarsen
from linforest_precond.graph.coarsening import coarsening_hierarchy as coarsening_hierarchy
from linforest_precond.graph.components import connected_components as connected_components
from linforest_precond.graph.coverage import identity_coverage as identity_coverage
from linforest_precond.graph.cuthill_mckee import cuthill_mckee as cuthill_mckee
from linforest_precond.graph.cuthill_mckee import pseudo_peripheral_node as pseudo_peripheral_node
from linforest_precond.graph.cuthill_mckee import reverse_cuthill_mckee as reverse_cuthill_mckee
from linforest_precond.graph.envelope import Wavefront as Wavefront
from linforest_precond.graph.envelope import bandwidth as bandwidth
from linforest_precond.graph.envelope import profile as profile
from linforest_precond.graph.envelope import wavefront as wavefront
from linforest_precond.graph.factor import factor as factor
from linforest_precond.graph.forest import linear_forest as linear_forest
from linforest_precond.graph.greedy import greedy_factor as greedy_factor
from linforest_precond.graph.levels import bfs_levels as bfs_levels
from linforest_precond.graph.matching import matching as matching
from linforest_precond.graph.matching_checks import is_matching as is_matching
from linforest_precond.graph.matching_checks import is_maximal_matching as is_maximal_matching
