"""Reports that several launches write, copied to the host together."""

import numpy as np

from .lazy_cupy import cupy

# Words of all parts together.
CAPACITY = 64


class Report:
    """Zeroed 64-bit words on the device. All launches that write them come before the first read."""

    def __init__(self):
        self.words, self._taken, self._host = cupy.zeros(CAPACITY, np.uint64), 0, None

    def take(self, count):
        """The next words, for one launch."""
        first, self._taken = self._taken, self._taken + count
        return Words(self, first, count)

    def get(self):
        """All words on the host."""
        if self._host is None:
            self._host = self.words.get()  # stall: decides how the caller goes on
        return self._host


class HostCopy:
    """A copy of an array to the host, enqueued: launches that follow do not delay it."""

    def __init__(self, array):
        memory = cupy.cuda.alloc_pinned_memory(array.nbytes)
        self._host = np.frombuffer(memory, array.dtype, array.size)
        array.get(out=self._host, blocking=False)
        self._event = cupy.cuda.Event(disable_timing=True)
        self._event.record()

    def get(self):
        """The array on the host."""
        self._event.synchronize()  # stall: as the caller says
        return self._host.copy()  # the memory is used again


class Words:
    """A part of a report."""

    def __init__(self, report, first, count):
        self.report, self._part = report, slice(first, first + count)

    @property
    def address(self):
        return self.report.words.data.ptr + 8 * self._part.start

    def get(self):
        """The words on the host, read together with all others of the report."""
        return self.report.get()[self._part]

    def get_again(self):
        """The words on the host after a further launch."""
        return self.report.words[self._part].get()  # stall: as above

    def take(self, count):
        """The next words of the report, for another launch."""
        return self.report.take(count)
