"""Joins against all pairs by the definition; certificates, recall, batches, bad input."""

import tracemalloc

import join_oracles as oracles
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import linforest_precond as lf
from linforest_precond.backends import backend_named
from linforest_precond.backends.array_libraries import on_host
from linforest_precond.similarity import (
    candidates,
    fuzzy_join,
    join_quality,
    match_sets,
    noisy_sets,
)

APPROXIMATE = ("greedy", "locally_dominant", "paz_schwartzman")
TEXTS = st.text("abc\u00e9\U0001f600\ud800", max_size=7)
COLLECTIONS = st.lists(st.sets(TEXTS, min_size=1, max_size=5), max_size=8)
OPTIONS = st.fixed_dictionaries(
    {
        "threshold": st.sampled_from((0.05, 0.3, 0.5, 0.7, 0.8, 1.0)),
        "q": st.integers(1, 4),
        "similarity": st.sampled_from(("jaccard", "edit")),
    }
)
# Two sets of one size whose similarity is 7 / 10 without rounding.
AT_THE_THRESHOLD = [
    [f"{letter * 4}" for letter in "abcdefghijklmnopq"],
    [f"{c * 4}" for c in "abcdefghijklmnwxyz"[:17]],
]


def assert_certified(found, epsilon=0.01):
    assert (found.overlap <= found.overlap_bound).all()
    assert (found.overlap_bound <= (2 + epsilon) * found.overlap * (1 + 1e-12)).all()
    assert (found.similarity <= found.similarity_bound).all()


@given(sets=COLLECTIONS, options=OPTIONS)
@example(sets=AT_THE_THRESHOLD, options={"threshold": 0.7, "q": 3, "similarity": "jaccard"})
def test_no_similar_pair_is_lost(sets, options):
    expected = oracles.join(sets, **options)
    exact = fuzzy_join(sets, matching="exact", **options)
    assert exact.pairs == expected
    np.testing.assert_array_equal(exact.overlap, exact.overlap_bound)
    for matching in APPROXIMATE:
        assert set(fuzzy_join(sets, matching=matching, **options).pairs) <= set(expected)
        assert set(fuzzy_join(sets, matching=matching, bound="upper", **options).pairs) >= set(expected)


@given(sets=COLLECTIONS, others=COLLECTIONS, options=OPTIONS)
def test_joins_of_two_collections(sets, others, options):
    assert fuzzy_join(sets, others, matching="exact", **options).pairs == oracles.join(
        sets, others, **options
    )


def test_a_pair_at_the_threshold_is_found():
    found = fuzzy_join(AT_THE_THRESHOLD)
    assert found.pairs == [(0, 1)] and found.similarity[0] == 14 / 20


@pytest.mark.parametrize("bound", ["matching", "upper"])
@pytest.mark.parametrize("matching", APPROXIMATE)
@pytest.mark.parametrize("similarity", ["jaccard", "edit"])
def test_noisy_sets(backend, similarity, matching, bound):
    """The GPU finds the same pairs with the same bits as the CPU."""
    sets = noisy_sets(60, size=8, seed=3)
    options = {"similarity": similarity, "matching": matching, "bound": bound}
    found, same = fuzzy_join(sets, device=backend.name, **options), fuzzy_join(sets, **options)
    assert_certified(found)
    for name in ("left", "right", "overlap", "overlap_bound", "similarity", "similarity_bound"):
        np.testing.assert_array_equal(getattr(found, name), getattr(same, name))
    quality = join_quality(found, fuzzy_join(sets, similarity=similarity, matching="exact"))
    assert quality.recall >= 0.99 and quality.precision == 1.0 or bound == "upper" and quality.recall == 1.0
    assert len(found) > 50


@pytest.mark.slow
@pytest.mark.parametrize("size", [6, 12, 40])
@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_recall_and_precision(size, noise):
    sets = noisy_sets(3000, size=size, noise=noise, seed=size)
    exact = fuzzy_join(sets, matching="exact")
    assert len(exact) > 500
    for matching in APPROXIMATE:
        default = join_quality(fuzzy_join(sets, matching=matching), exact)
        assert default.recall >= 0.99 and default.precision == 1.0
        upper = join_quality(fuzzy_join(sets, matching=matching, bound="upper"), exact)
        assert upper.recall == 1.0 and upper.precision >= 0.9


@pytest.mark.slow
def test_many_sets_on_both_devices(backend):
    sets = noisy_sets(20_000, size=10, seed=5)
    found, same = fuzzy_join(sets, device=backend.name), fuzzy_join(sets, matching="locally_dominant")
    np.testing.assert_array_equal(found.overlap, same.overlap)
    assert found.pairs == same.pairs and len(found) > 10_000


def test_batches_and_chunks_change_nothing(backend, monkeypatch):
    sets = noisy_sets(60, size=8, seed=4)
    whole = fuzzy_join(sets, device=backend.name)
    monkeypatch.setattr(candidates, "CHUNK", 50)
    monkeypatch.setattr(backend_named(backend.name).similarity.set_pairs, "CELLS", 100)
    parts = fuzzy_join(sets, device=backend.name)
    assert parts.pairs == whole.pairs and parts.candidates == whole.candidates
    np.testing.assert_array_equal(parts.overlap, whole.overlap)


def test_the_order_of_the_sets_does_not_matter():
    sets = noisy_sets(60, size=8, seed=6)
    forwards, backwards = fuzzy_join(sets), fuzzy_join(sets[::-1])
    mirrored = sorted((59 - j, 59 - i) for i, j in backwards.pairs)
    assert mirrored == forwards.pairs


def test_no_sets_and_single_ones():
    assert fuzzy_join([]).pairs == fuzzy_join([["a"]]).pairs == fuzzy_join([], [["a"]]).pairs == []
    assert fuzzy_join([[""]], [[""], ["a"]]).pairs == [(0, 0)]
    assert fuzzy_join([["a", "a"], ("a",), {"a"}, iter("a")]).similarity.tolist() == [1.0] * 6


def test_tokens_longer_than_every_element():
    sets = [["abc", "de"], ["abc", "de"], ["abc", "dx"]]
    assert fuzzy_join(sets, q=10**9).pairs == [(0, 1)]


def test_csv_and_tables(tmp_path):
    found = fuzzy_join([["abcd"], ["abcd"]])
    found.to_csv(tmp_path / "pairs.csv")
    assert (tmp_path / "pairs.csv").read_text() == "left,right,similarity,similarity_bound\n0,1,1.0,1.0\n"
    assert "1 similar pair\n" in str(found) and len(found) == 1
    with pytest.raises(ValueError, match="read-only"):
        found.left[0] = 3


def test_progress_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setattr(candidates, "CHUNK", 1)
    sets = noisy_sets(40, size=4)
    fuzzy_join(sets)
    assert capsys.readouterr().err == ""
    fuzzy_join(sets, progress=True)
    assert "40 of 40 sets" in capsys.readouterr().err


@pytest.mark.parametrize(
    "sets, message",
    [
        ([["a"], []], r"sets_r\[1\] must not be empty"),
        ([["a", 3]], r"sets_r\[0\] must contain strings only, got 3"),
        ([["a"], "ab"], r"sets_r\[1\] must be a set of strings"),
        ([None], r"sets_r\[0\] must be a set of strings"),
        ([b"ab"], r"sets_r\[0\] must be a set of strings"),
        ("ab", "sets_r must be a sequence"),
        (3, "sets_r must be a sequence"),
    ],
)
def test_sets_that_are_none(sets, message):
    with pytest.raises(ValueError, match=message):
        fuzzy_join(sets)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0001, float("nan"), "high", None])
def test_thresholds_outside_the_range(threshold):
    with pytest.raises(ValueError, match="threshold must be"):
        fuzzy_join([["a"]], threshold=threshold)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"q": 0}, ValueError, "q must be at least 1"),
        ({"q": 2.5}, TypeError, "q must be an integer"),
        ({"similarity": "cosine"}, ValueError, 'similarity must be "jaccard" or "edit"'),
        ({"matching": "best"}, ValueError, "matching must be"),
        ({"bound": "lower"}, ValueError, "bound must be"),
        ({"epsilon": -1}, ValueError, "epsilon must be"),
        ({"device": "tpu"}, ValueError, "device must be"),
        ({"device": "cuda", "matching": "exact"}, ValueError, "runs on the CPU"),
        ({"sets_s": [[]]}, ValueError, r"sets_s\[0\] must not be empty"),
    ],
)
def test_options_that_do_not_exist(options, error, message):
    with pytest.raises(error, match=message):
        fuzzy_join([["a"]], **options)


def test_the_package_is_imported_when_it_is_used():
    assert lf.similarity.fuzzy_join is fuzzy_join


class TestBounds:
    """Sizes are refused before anything of that size is allocated or computed."""

    @pytest.mark.parametrize(
        "join",
        [
            lambda a, b: match_sets(a, b, similarity="edit"),
            lambda a, b: fuzzy_join([a], [b], similarity="edit"),
        ],
    )
    def test_long_elements_for_edit_distances(self, join):
        with pytest.raises(
            ValueError, match=r"set.*must have elements of at most 32,768 .* got one of 200,000"
        ):
            join(["a" * 200_000], ["b" * 200_000])

    @pytest.mark.parametrize("matching", ["greedy", "exact"])
    def test_more_weights_than_memory(self, monkeypatch, matching):
        free = 10**8
        monkeypatch.setattr("linforest_precond.backends.cpu.runtime.calibration.free_bytes", lambda: free)
        words = [f"word {number}" for number in range(3000)]
        tracemalloc.start()
        try:
            with pytest.raises(
                MemoryError, match=r"sets_r\[0\] and sets_r\[1\] must .* got 3,000 .* 100,000,000 are free"
            ):
                fuzzy_join([words, words[1:] + ["x"]], matching=matching)
            assert tracemalloc.get_traced_memory()[1] < free
        finally:
            tracemalloc.stop()
        with pytest.raises(MemoryError, match=r"sets_r\[1\] and sets_s\[0\] must"):
            fuzzy_join([["a"], words], [words], matching=matching)
        with pytest.raises(MemoryError, match="set_r and set_s must .* split .* parts of 2,500 elements"):
            match_sets(words, words, matching=matching)

    def test_weights_of_large_sets_are_sparse(self):
        words = random_words(np.random.default_rng(3), 30_000)
        tracemalloc.start()
        try:
            found = fuzzy_join([words, words[1:] + ["other"]])
            assert tracemalloc.get_traced_memory()[1] < 3 * 10**8  # 14 GB as a block
        finally:
            tracemalloc.stop()
        assert found.overlap == pytest.approx(len(words) - 1, abs=1)

    def test_more_weights_than_indices(self):
        with pytest.raises(ValueError, match="set_s must have at most 32,768 elements, got 40,000; split it"):
            match_sets(["a"], map(str, range(40_000)))


def random_words(random, count):
    return sorted(
        {"".join(map(chr, random.integers(97, 123, length))) for length in random.integers(4, 9, count)}
    )


@pytest.mark.parametrize("bound", ["matching", "upper"])
@pytest.mark.parametrize("matching", ["greedy", "locally_dominant", "paz_schwartzman", "exact"])
def test_pairs_too_large_for_a_batch(backend, monkeypatch, matching, bound):
    """The weights that are not zero give the bits of the dense block."""
    random = np.random.default_rng(5)
    words = random_words(random, 120)
    sets = [words, [word if random.random() < 0.5 else word[:-1] + "x" for word in words], words[:90]]
    device = "cpu" if matching == "exact" else backend.name
    options = {"threshold": 0.3, "matching": matching, "bound": bound, "device": device}
    dense = fuzzy_join(sets, **options)
    monkeypatch.setattr(backend_named(device).similarity.set_pairs, "CELLS", 10)
    sparse = fuzzy_join(sets, **options)
    assert dense.left.size > 0
    for field in ("left", "right", "overlap", "overlap_bound"):
        wanted, found = (on_host(getattr(each, field)) for each in (dense, sparse))
        if matching == "exact":  # ties, and another order of the sum
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
        else:
            np.testing.assert_array_equal(found, wanted)
