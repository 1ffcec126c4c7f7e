"""Cuthill-McKee orderings and their starting vertices; gap metrics and the refinement of orderings."""
