"""Graphs on a grid of R x C ranks: the study of chapter 6 of Mandulak (2025)."""
