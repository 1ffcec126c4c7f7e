"""Generate matrices: stencils, finite elements, random graphs, stand-ins for the paper's matrices."""
