"""Vertex orderings, gap metrics, and times of graph algorithms: the study of chapter 2 of Mandulak (2025)."""
