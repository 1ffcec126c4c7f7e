"""Plugin of pytest: writes the kernels that each test launches, one JSON line a test.

``LINFOREST_LAUNCHES`` names the folder; each process has a file of its own.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from linforest_precond.backends import cuda_status

LAUNCHED = Counter()


class Recorded:
    """A kernel that counts its launches; its attributes are those of the kernel."""

    def __init__(self, kernel, name):
        vars(self).update(_counted=kernel, _name=name)

    def __call__(self, *arguments, **options):
        LAUNCHED[self._name] += 1
        return self._counted(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._counted, name)

    def __setattr__(self, name, value):
        setattr(self._counted, name, value)


def record():
    from linforest_precond.backends.cuda.runtime import loader

    found = loader.Kernels.__getattr__

    def recorded(kernels, function):
        kernel = Recorded(found(kernels, function), f"{kernels._key[0]}:{function}")
        setattr(kernels, function, kernel)
        return kernel

    loader.Kernels.__getattr__ = recorded


def pytest_configure():
    if cuda_status()[0]:
        record()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    LAUNCHED.clear()
    yield
    if LAUNCHED:
        path = Path(os.environ["LINFOREST_LAUNCHES"]) / f"{os.getpid()}.jsonl"
        with path.open("a", encoding="utf-8") as file:
            print(json.dumps({"test": item.nodeid, "launches": LAUNCHED}), file=file)
