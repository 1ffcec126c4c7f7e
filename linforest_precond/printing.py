"""How records and operators print themselves."""

from __future__ import annotations

from linforest_precond.annotations import Array


def as_table(title: str, *rows: tuple[str, str]) -> str:
    """A title, and below it names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def numbers_of(array: Array) -> list[int]:
    """The integers of a small array, copied to the host."""
    return [int(number) for number in (array.get() if hasattr(array, "get") else array)]  # stall: on demand
