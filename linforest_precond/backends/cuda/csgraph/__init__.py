"""Graph algorithms: components, breadth-first search, spanning forests, independent sets, PageRank ..."""

from . import breadth_first as breadth_first
from . import coloring as coloring
from . import components as components
from . import degrees as degrees
from . import fastsv as fastsv
from . import forward_backward as forward_backward
from . import frontier as frontier
from . import independent_set as independent_set
from . import label_propagation as label_propagation
from . import luby as luby
from . import pagerank as pagerank
from . import sorted_neighbors as sorted_neighbors
from . import spanning_forest as spanning_forest
from . import strong_components as strong_components
from . import traffic as traffic
from . import tree_roots as tree_roots
from . import worklist as worklist
