"""Locally dominant matching at scale: the study of chapter 4 of Mandulak (2025)."""
