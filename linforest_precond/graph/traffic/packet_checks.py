"""Checks of addresses and packet counts, and their conversion to uint32 and int64."""

from __future__ import annotations

import ipaddress
from typing import Any

import numpy as np

from linforest_precond.backends.annotations import Array
from linforest_precond.backends.array_libraries import refuse_masked_or_ragged

ADDRESSES = 2**32
LARGEST_INT64 = 2**63 - 1


def as_addresses(name: str, values: Any, xp: Any) -> Array:
    """Addresses as uint32: integers in [0, 2**32), or IPv4 addresses as text."""
    array = _as_vector(name, values, xp)
    if array.dtype.kind in "USO" and array.size:
        array = xp.asarray(_parsed(name, array))
    if array.dtype == np.uint32:
        return array
    _check_numbers(name, array, ADDRESSES - 1, xp)
    return array.astype(np.uint32)


def as_packet_counts(name: str, values: Any, xp: Any) -> Array | None:
    """Numbers of packets as int64; None stays."""
    if values is None:
        return None
    array = _as_vector(name, values, xp)
    _check_numbers(name, array, LARGEST_INT64, xp)
    return array.astype(np.int64, copy=False)


def check_same_lengths(**arrays: Array | None) -> None:
    """Raise a ValueError unless all arrays that are given have one length."""
    lengths = {name: array.size for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"{', '.join(lengths)} must have one length, got {found}")


def total_packets(packets: Array) -> int:
    """The sum of nonnegative int64 numbers, which may exceed int64."""
    low, high = (packets & (2**32 - 1)).sum(), (packets >> 32).sum()
    return int(low) + (int(high) << 32)  # stall: whether sums can overflow


def check_total(total: int) -> None:
    """Raise a ValueError if the sum of all packets is no int64."""
    if total > LARGEST_INT64:
        raise ValueError(
            f"the numbers of packets must have a sum of at most 2**63 - 1, got {total}; "
            "split the traffic, and take the statistics of each part"
        )


def _as_vector(name: str, values: Any, xp: Any) -> Array:
    """A 1-D array on the device of `xp`."""
    refuse_masked_or_ragged(name, values)
    array: Array = values if isinstance(values, xp.ndarray) else np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.size == 0:
        return xp.zeros(0, np.int64)
    if array.dtype == np.float16:  # the bounds are no numbers of this type
        array = array.astype(np.float32)
    return array if array.dtype.kind in "USO" else xp.asarray(array)


def _check_numbers(name: str, array: Array, largest: int, xp: Any) -> None:
    """Raise an exception that names the first value that is no integer in [0, largest]."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold integers, got {array.dtype}")
    if array.size == 0 or array.dtype.kind == "b":
        return
    wrong = (array < 0) | (array > _in_type(largest, array.dtype))
    if array.dtype.kind == "f":
        wrong |= ~(xp.floor(array) == array) | (array == largest + 1)  # NaN differs from itself
    if wrong.any():  # stall: one number
        place = int(wrong.argmax())
        raise ValueError(
            f"{name} must hold integers in [0, {largest}], got {array[place].item()} at position {place}"
        )


def _in_type(largest: int, dtype: Any) -> Any:
    """The bound in the type of an array, or the largest number of the type."""
    return dtype.type(min(largest, np.iinfo(dtype).max)) if dtype.kind in "iu" else dtype.type(largest)


def _parsed(name: str, texts: Array) -> Array:
    """IPv4 addresses, each different one parsed once."""
    different, inverse = np.unique(texts.astype(str), return_inverse=True)
    numbers = np.array([_address(name, text) for text in different.tolist()], np.uint32)
    return numbers[inverse]


def _address(name: str, text: str) -> int:
    try:
        return int(ipaddress.IPv4Address(text.strip()))
    except ValueError:
        raise ValueError(
            f'{name} must hold integers or IPv4 addresses as text ("192.0.2.1"), got {text!r}'
        ) from None
