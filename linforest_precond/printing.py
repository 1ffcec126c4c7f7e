"""How records and operators print themselves."""

from __future__ import annotations

from typing import Any


def as_table(title: str, *rows: tuple[str, str]) -> str:
    """A title, and below it names and values in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def numbers_of(array: Any) -> list[int]:
    """A small array's numbers, on the host."""
    return [int(number) for number in (array.get() if hasattr(array, "get") else array)]  # stall: on demand
