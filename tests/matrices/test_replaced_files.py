"""Outputs replace regular files alone: devices, pipes and folders stay, and so do symbolic links."""

import os
import socket
import stat

import numpy as np
import pytest

import linforest_precond as lf
from linforest_precond.app import cli
from linforest_precond.matrices.readers.atomic_files import replacing, write_text


def device(path):
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))  # that of /dev/full
    except PermissionError:
        pytest.skip("only root makes devices")


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(os.path.relpath(path))


def link_to_pipe(path):
    os.mkfifo(f"{path}-pipe")
    path.symlink_to(f"{path}-pipe")


PLACES = {
    "device": device,
    "pipe": os.mkfifo,
    "socket": bound_socket,
    "folder": os.mkdir,
    "link to a pipe": link_to_pipe,
    "link to itself": lambda path: path.symlink_to(path),
}
jacobi = lf.jacobi(lf.matrices.poisson((4, 4)))
traffic = lf.graph.traffic_matrix([1], [2])
WRITERS = {
    "p.npz": lambda path: lf.save_preconditioner(jacobi, path),
    "t.mtx": lambda path: lf.graph.write_traffic(path, traffic),
    "page.html": lambda path: write_text(path, "page"),
}


def node(path):
    found = os.lstat(path)
    return found.st_ino, found.st_mode, found.st_rdev


@pytest.mark.skipif(os.name != "posix", reason="no devices or pipes in the file system")
@pytest.mark.parametrize("place", PLACES)
class TestOtherNodes:
    @pytest.fixture
    def made(self, place, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)

        def make(name):
            PLACES[place](tmp_path / name)
            return tmp_path / name, node(tmp_path / name), set(os.listdir())

        return make

    @pytest.mark.parametrize("name", WRITERS)
    def test_functions_refuse_them(self, made, name):
        path, before, files = made(name)
        with pytest.raises(FileExistsError, match="is not a regular file") as error:
            WRITERS[name](path)
        assert error.value.filename == str(path)
        assert node(path) == before and set(os.listdir()) == files

    @pytest.mark.parametrize("option", ["--out x.npy", "--no-out --history h.csv", "--no-out --plot p.svg"])
    @pytest.mark.parametrize("force", [["--force"], []])
    def test_the_command_refuses_them_before_the_work(self, made, option, force, monkeypatch, capsys):
        monkeypatch.setattr(lf.matrices, "load", lambda *_, **__: pytest.fail("worked before the checks"))
        path, before, _ = made(option.split()[-1])
        assert cli.main(["solve", "poisson2d:4", *option.split(), *force]) == 2
        assert f"{path.name}: it exists and is not a regular file" in capsys.readouterr().err
        assert node(path) == before


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path, exists):
    (tmp_path / "far").mkdir()
    link, place = tmp_path / "p.npz", tmp_path / "far" / "data"
    if exists:
        place.write_text("old")
    link.symlink_to("far/data")
    lf.save_preconditioner(jacobi, link)
    assert link.is_symlink() and lf.load_preconditioner(link).shape == (16, 16)
    assert os.listdir(tmp_path / "far") == ["data"]


def test_a_folder_that_appears_during_the_work_is_named(tmp_path):
    path = tmp_path / "x.npy"
    with pytest.raises(OSError, match=r"x\.npy"), replacing(path) as unfinished:
        np.save(unfinished, np.ones(3))
        path.mkdir()
    assert os.listdir(tmp_path) == ["x.npy"] and path.is_dir()
