"""Synthetic packets: the same on every device and in every part, with the power law that was asked for."""

import numpy as np
import pytest

import linforest_precond as lf

packets = lf.matrices.packets


def frequencies(addresses):
    return np.sort(np.unique(addresses, return_counts=True)[1])[::-1]


def test_parts_of_a_longer_sequence():
    whole = packets(12, seed=3)
    for part in range(4):
        for found, expected in zip(packets(10, seed=3, first=part << 10), whole, strict=True):
            np.testing.assert_array_equal(found, expected[part << 10 : (part + 1) << 10])


def test_pieces_do_not_matter(monkeypatch):
    expected = packets(10)
    monkeypatch.setattr("linforest_precond.matrices.generators.network_packets.AT_ONCE", 300)
    for found, same in zip(packets(10), expected, strict=True):
        np.testing.assert_array_equal(found, same)


@pytest.mark.gpu
def test_the_same_on_the_gpu(cuda):
    for options in ({}, {"seed": 5, "address_bits": 7}, {"exponent": 1.0, "offset": 0.5, "first": 2**40}):
        for found, expected in zip(
            packets(16, device="cuda", **options), packets(16, **options), strict=True
        ):
            assert isinstance(found, cuda.xp.ndarray)
            np.testing.assert_array_equal(cuda.host(found), expected)


@pytest.mark.parametrize("bits", [1, 2, 5, 8])
def test_addresses_are_a_permutation_of_the_ranks(bits):
    """With an almost uniform law every address occurs, and none outside."""
    for addresses in packets(14, address_bits=bits, exponent=1e-9):
        assert np.unique(addresses).tolist() == list(range(2**bits))


def test_the_power_law():
    """The share of the busiest hosts is the share of the law: an integral of (r + offset)**-exponent."""
    exponent, offset = 1.5, 4.0
    law = np.cumsum((np.arange(2**20) + 0.5 + offset) ** -exponent)
    for addresses in packets(18, exponent=exponent, offset=offset, address_bits=20):
        shares = np.cumsum(frequencies(addresses)) / addresses.size
        for hosts in (1, 8, 64, 512):
            assert shares[hosts - 1] == pytest.approx(law[hosts - 1] / law[-1], rel=0.05)


def test_seeds_and_sides_differ():
    first, second = packets(10), packets(10, seed=1)
    arrays = [*first, *second]
    assert len({array.tobytes() for array in arrays}) == 4
    busiest = [np.bincount(array.astype(np.int64) >> 20).argmax() for array in arrays]
    assert len(set(busiest)) > 1


def test_wrong_arguments():
    for arguments, name in (
        ({"scale": -1}, "scale"),
        ({"scale": 41}, "scale"),
        ({"scale": 3, "address_bits": 33}, "address_bits"),
        ({"scale": 3, "exponent": 0}, "exponent"),
        ({"scale": 3, "offset": np.nan}, "offset"),
        ({"scale": 3, "first": -1}, "first"),
        ({"scale": 3, "device": "tpu"}, "device"),
    ):
        with pytest.raises(ValueError, match=name):
            packets(**arguments)
    with pytest.raises(TypeError, match="scale"):
        packets(2.5)
    assert packets(0)[0].shape == (1,)
