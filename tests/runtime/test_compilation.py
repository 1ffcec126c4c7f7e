"""What a user sees while kernels are compiled."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from linforest_precond.backends import compilation, compilation_notice
from linforest_precond.backends.compilation import CompilationWatch
from linforest_precond.backends.compilation_notice import CompilationNotice
from linforest_precond.backends.cpu.runtime.arrays import compact
from linforest_precond.backends.cuda.runtime import loader

ROOT = Path(__file__).resolve().parents[2]


def event_of(function):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


OWN = event_of(compact.py_func)


def test_one_line_after_two_seconds(monkeypatch, caplog):
    monkeypatch.setattr(compilation_notice, "PATIENCE", 0.05)
    watch = CompilationWatch()
    with caplog.at_level(logging.WARNING, logger="linforest_precond"):
        for _ in range(2):
            watch.on_start(OWN)
            watch.notice._timer and watch.notice._timer.join()
            watch.on_end(OWN)
    (text,) = (record.getMessage() for record in caplog.records)
    assert "kernels are being compiled, once: they are kept in" in text and "linforest warmup" in text
    assert watch.functions == 2 and watch.notice.seconds >= 0.05


def test_short_compilations_are_silent_until_their_sum_is_long(monkeypatch, caplog):
    monkeypatch.setattr(compilation_notice, "PATIENCE", 1e6)
    watch = CompilationWatch()
    watch.on_start(OWN)
    watch.on_start(OWN)  # a helper
    watch.on_end(OWN)
    watch.on_end(OWN)
    assert not caplog.records and watch.notice._timer is None
    watch.notice.seconds = 2e6
    watch.on_start(OWN)
    watch.notice._timer.join()
    watch.on_end(OWN)
    assert len(caplog.records) == 1


def test_an_end_without_a_begin_counts_nothing(monkeypatch, caplog):
    monkeypatch.setattr(compilation_notice, "PATIENCE", 0.0)
    watch = CompilationWatch()
    watch.on_end(OWN)  # of a compilation that began before the watch
    watch.on_start(OWN)
    watch.notice._timer.join()
    watch.on_end(OWN)
    assert len(caplog.records) == 1 and watch.notice._timer is None


def test_functions_of_the_user_are_not_ours(monkeypatch):
    watch = CompilationWatch()
    watch.on_start(event_of(test_one_line_after_two_seconds))
    watch.on_end(event_of(test_one_line_after_two_seconds))
    assert watch.functions == 0


def test_without_a_cache_a_warning_says_who_pays(monkeypatch):
    monkeypatch.setattr(compilation, "cache_folder", lambda: None)
    watch = CompilationWatch()
    with pytest.warns(RuntimeWarning, match="every process compiles them again.*NUMBA_CACHE_DIR") as found:
        for _ in range(2):
            watch.on_start(OWN)
            watch.on_end(OWN)
    assert len(found) == 1


def test_kernels_of_the_gpu_are_announced_too(monkeypatch, caplog):
    monkeypatch.setattr(compilation_notice, "PATIENCE", 0.0)
    monkeypatch.setattr(loader, "NOTICE", CompilationNotice())
    monkeypatch.setenv("CUPY_CACHE_DIR", "kept-here")

    def compile_slowly(name):
        loader.NOTICE._timer and loader.NOTICE._timer.join()
        return name

    kernels = loader.Kernels(SimpleNamespace(get_function=compile_slowly), "forest/factor")
    with caplog.at_level(logging.WARNING, logger="linforest_precond"):
        assert kernels.propose == "propose" and kernels.confirm == "confirm"
    (text,) = (record.getMessage() for record in caplog.records)
    assert "kept in kept-here" in text


def run(script, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONWARNINGS": "always"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILING + script],
        capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


COMPILING = """
import time
import numpy as np
from linforest_precond.backends import backend_of
backend_of(np.ones(2))
from linforest_precond.backends import compilation, compilation_notice
from linforest_precond.backends.cpu.runtime.arrays import compact
compilation_notice.PATIENCE = 0.0
"""


def test_a_process_that_compiles_says_where_the_result_is_kept(tmp_path):
    script = "compact(np.arange(3), np.array([3])); print(compilation.WATCH.functions)"
    first, second = run(script, tmp_path), run(script, tmp_path)
    assert first.stdout.split() == ["1"] and second.stdout.split() == ["0"]
    (line,) = first.stderr.splitlines()
    assert line.startswith("linforest_precond: kernels are being compiled, once") and str(tmp_path) in line
    assert second.stderr == ""


@pytest.mark.slow
def test_the_warning_names_the_line_of_the_user(tmp_path):
    script = """
compilation.cache_folder = lambda: None
import warnings
with warnings.catch_warnings(record=True) as found:
    compact(np.arange(3), np.array([3]))
print(len(found), found[0].filename)
"""
    assert run(script, tmp_path).stdout.split() == ["1", "<string>"]
