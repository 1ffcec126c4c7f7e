"""Small functions of readers and generators, by examples."""

import numpy as np


def test_find():
    from linforest_precond.matrices.catalogue import find

    assert (find("BUMP_2911").name, find("janna/bump_2911").name) == ("Bump_2911", "Bump_2911")


def test_is_generator():
    from linforest_precond.matrices.generators.by_name import is_generator

    assert (
        is_generator("aniso2:300"),
        is_generator("aniso2"),
        is_generator("rmat"),
        is_generator("ecology1"),
    ) == (True, True, False, False)


def test_generate():
    from linforest_precond.matrices.generators.by_name import generate

    assert generate("aniso2:300").shape == (90000, 90000)
    assert generate("poisson:10x20x3").shape == (600, 600)


def test_read_array():
    import io

    from linforest_precond.matrices.readers.npz_files import read_array

    file = io.BytesIO()
    np.save(file, np.array([1.0, 2.0]))
    size = file.tell()
    assert file.seek(0) == 0
    assert repr(read_array(file, size)) == "array([1., 2.])"


def test_read_matrix():
    import os
    import tempfile

    from linforest_precond.matrices.readers.files import read_matrix

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "A.mtx")
        with open(path, "w") as file:
            _ = file.write("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n")
        A = read_matrix(path)
    assert repr(A.toarray()) == "array([[0., 1., 0.],\n       [1., 0., 0.],\n       [0., 0., 1.]])"
