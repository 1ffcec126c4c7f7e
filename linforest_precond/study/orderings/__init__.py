"""Vertex orderings, their metrics and what they buy: the study of chapter 2 of Mandulak (2025)."""
