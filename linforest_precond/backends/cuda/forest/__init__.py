"""From a graph to bands: [0,n]-factors, linear forests, their orderings, pairs of vertices, bands."""
