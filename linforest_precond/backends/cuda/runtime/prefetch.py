"""Programs compiled ahead of their first use, several at a time.

NVRTC takes seconds for the programs of a first call, one after the other; it compiles in several threads at
once. So a call enqueues the programs that it is going to use before it uses them. The first use of a program
waits for its compilation, or compiles it if it is still queued. An error is not reported here: the program is
compiled again where it is used, and the error is raised there.
"""

import atexit
import collections
import contextlib
import functools
import os
import threading

from .lazy_cupy import cupy

# A compilation takes a core and some hundred megabytes.
MOST_THREADS = 8

# The functions that list the programs of a call, by its name.
LISTS = {}

_queue = collections.deque()
_threads = set()


def lists_programs_of(call):
    """Decorates the function that lists the programs of a call; it gets the facts given to `prefetch`."""

    def enter(listing):
        LISTS[call] = listing
        return listing

    return enter


def prefetch(call, *facts):
    """Begin to compile the programs of a call for the current device, those that no call has named before."""
    device = cupy.cuda.runtime.getDevice()
    new = [program for program in LISTS[call](*facts) if program._is_new_on(device)]
    if new:
        run_in_threads([functools.partial(program._compile_ahead, device) for program in new])


def run_in_threads(tasks):
    """Call functions in other threads, in their order; exceptions are dropped."""
    _finish_at_exit()
    _queue.extend(tasks)
    for _ in range(min(len(tasks), MOST_THREADS, os.cpu_count() or 1)):
        thread = threading.Thread(target=_work, name="linforest_precond-compiler", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is shutting down
            return


def _work():
    """Take tasks until there are none."""
    _threads.add(threading.current_thread())  # before it takes one: `_finish` waits for it
    with contextlib.suppress(IndexError):
        while True:
            task = _queue.popleft()
            with contextlib.suppress(Exception):
                task()
    _threads.discard(threading.current_thread())


@functools.cache
def _finish_at_exit():
    # Now, not when this module is imported: what is registered last runs first, before CuPy is torn down.
    atexit.register(_finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget)


def _finish():
    """Drop what is queued, and wait for what runs: NVRTC crashes in a process that exits meanwhile."""
    _queue.clear()
    for thread in list(_threads):
        thread.join()


def _forget():
    """After a fork: the threads are not in the child."""
    _queue.clear()
    _threads.clear()
