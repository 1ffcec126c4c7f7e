"""Uploads through pinned slots, and the order of batches, with the host's memory in place of the device's."""

import ctypes
import threading
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from linforest_precond.backends.cuda.matching import out_of_core_matching
from linforest_precond.backends.cuda.runtime import uploads


@pytest.fixture
def host_copies(monkeypatch):
    cupy = MagicMock()
    cupy.cuda.alloc_pinned_memory = lambda size: bytearray(size)
    cupy.cuda.runtime.memcpyAsync = lambda target, source, size, *_: ctypes.memmove(target, source, size)
    cupy.cuda.runtime.pointerGetAttributes = lambda address: SimpleNamespace(type=0)  # pageable
    monkeypatch.setattr(uploads, "cupy", cupy)
    return cupy


def device_array(array):
    data = SimpleNamespace(ptr=array.ctypes.data)
    sizes = {name: getattr(array, name) for name in ("size", "itemsize", "nbytes", "dtype")}
    return SimpleNamespace(data=data, **sizes)


@pytest.mark.parametrize("small", [0, 8 * 1000])
@pytest.mark.parametrize("slot", [64, 1000, 2**20])
@pytest.mark.parametrize("size", [0, 1, 999])
def test_uploads_copy_every_item(host_copies, monkeypatch, size, slot, small):
    monkeypatch.setattr(uploads, "SLOT_BYTES", slot)
    monkeypatch.setattr(uploads, "SMALL_BYTES", small)
    source, target = np.arange(float(size)), np.full(size, -1.0)
    before = threading.active_count()
    with uploads.Uploads(max(source.nbytes, 8)) as sender:
        started = sender.copy(device_array(target), source, MagicMock())
        assert len(started) == (0 if small else -(-size // (sender._slot_bytes // 8)))
        assert not small or threading.active_count() == before
        out_of_core_matching.wait_for(started)
        assert sender.bytes == source.nbytes
    assert np.array_equal(target, source) and threading.active_count() == before


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("batches", [1, 2, 3, 9])
def test_batches_are_loaded_ahead_of_their_searches(monkeypatch, lanes, batches):
    """A lane searches its batch before it loads another one."""
    monkeypatch.setattr(out_of_core_matching, "cupy", MagicMock())
    events = []

    class Lane(MagicMock):
        def load(self, streamed, batch, rounds):
            events.append(("load", self, batch))
            return batch, []

        def set_pointers(self, program, batch, *_):
            events.append(("search", self, batch))

    streamed = out_of_core_matching.StreamedGraph.__new__(out_of_core_matching.StreamedGraph)
    streamed.lanes, streamed.indptr = [Lane() for _ in range(lanes)], None
    streamed.program = streamed.mates = streamed.pointers = None
    streamed._set_pointers(range(batches), 0)
    for kind in ("load", "search"):
        assert [batch for each, _, batch in events if each == kind] == list(range(batches))
    for lane in streamed.lanes:
        own = [kind for kind, owner, _ in events if owner is lane]
        assert own == ["load", "search"] * (len(own) // 2)
    ahead = [kind for kind, *_ in events].index("search")
    assert ahead == min(lanes, batches)
