"""The systems of benchmarks/systems/gallery.py are assembled, solvable, and survive their files."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu

PACKAGES = ("skfem", "fipy", "pymatting", "pandapower")


def quietly(call, *arguments):
    """Without the warnings of other packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


@pytest.mark.parametrize("package", PACKAGES)
def test_small_systems_are_solvable(bench, package, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(package, reason=f"needs {package}, of the extra `gallery`")
    found = dict(quietly(lambda: list(bench("systems.gallery").systems(package, "small"))))
    assert found and all(name.startswith(f"{package}-") for name in found)
    for name, make in found.items():
        system = quietly(make)
        assert 500 <= system.A.shape[0] <= 6000 and system.A.has_canonical_format, name
        x = splu(sp.csc_array(system.A)).solve(system.b)
        assert np.linalg.norm(system.b - system.A @ x) <= 1e-8 * np.linalg.norm(system.b), name
        assert system.A2 is None or not np.array_equal(system.A2.data, system.A.data), name


def test_a_file_has_both_matrices(bench, tmp_path):
    assembled = bench("systems.assembled")
    A = sp.csr_array(np.array([[2.0, 1, 0], [0, 3, 0], [1, 0, 4]]))
    A2 = sp.csr_array(np.array([[2.0, 0, 1], [0, 3, 0], [1, 0, 5]]))
    made = assembled.assembled(A, np.ones(3), A2, "a note")
    assert assembled.same_pattern(made.A, made.A2) and made.A.indices.dtype == np.int32
    assert np.array_equal(made.A.toarray(), A.toarray()) and np.array_equal(made.A2.toarray(), A2.toarray())
    made.save(tmp_path / "one.npz")
    ((name, load),) = bench("systems.gallery").saved(tmp_path)
    loaded = load()
    assert name == "one" and loaded.note == "a note" and np.array_equal(loaded.b, made.b)
    assert all(abs(getattr(loaded, each) - getattr(made, each)).max() == 0 for each in ("A", "A2"))


def test_missing_packages_are_named(bench, monkeypatch, tmp_path, capsys):
    gallery = bench("systems.gallery")
    monkeypatch.setattr(gallery, "MODULES", {"nothing": "gallery_of_nothing"})
    assert gallery.main(["--out", str(tmp_path)]) == 0
    assert "no systems of nothing: " in capsys.readouterr().err
