"""Preconditioners: kinds and their parts, setup, operators, files and memory estimates."""
