"""Frozen dataclasses of the stages from A to the operator, and their printing."""
