"""Files that are missing, endless or of another format, and outputs that are inputs, at every command.

Promise: one line on the standard error output that names the file, exit code 3 for what is not a regular
file, and no input is changed. Outputs replace regular files alone: devices, pipes and links stay.
"""

import contextlib
import io
import os
import socket
import stat

import numpy as np
import scipy.io

import linforest_precond as lf
from linforest_precond.app import cli

CLASSES = {
    "places of inputs": (12, 3_000),
    "outputs that are inputs": (10, 500),
    "outputs on other nodes": (10, 2_000),
}
LIMIT_SECONDS = 120.0
COMMANDS = (
    "info FILE",
    "solve FILE --no-out",
    "solve poisson2d:4 --no-out --rhs FILE",
    "solve poisson2d:4 --no-out --x0 FILE",
    "study FILE --offline --out OUT",
    "traffic FILE",
    "traffic good.csv FILE",
    "join FILE",
    "join sets.txt FILE",
)
SUFFIXES = (
    ".mtx",
    ".mtx.gz",
    ".mtx.bz2",
    ".rb",
    ".mat",
    ".npz",
    ".tar.gz",
    ".npy",
    ".txt",
    ".txt.gz",
    ".csv",
)
PLACES = ("missing", "folder", "device", "pipe", "link to nothing", "below a file", "other format")


def prepare(folder):
    os.environ.update(LINFOREST_OFFLINE="1", LINFOREST_CACHE=str(folder / "no-cache"))
    os.environ.pop("LINFOREST_MATRICES", None)


def run_case(prepared, name, rng, folder):
    os.chdir(folder)
    (folder / "good.csv").write_text("1,2\n")
    (folder / "sets.txt").write_text("a b\nb c\n")
    return CASES[name](rng, folder)


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def run(words):
    """The exit code, and what was printed as an error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = cli.main(words)
    return code, errors.getvalue()


def place_of_input(rng, folder):
    command, place = pick(rng, COMMANDS).split(), pick(rng, PLACES)
    path = folder / f"input{pick(rng, SUFFIXES)}"
    made = path / "below.mtx" if place == "below a file" else path
    make(rng, path, place)
    code, errors = run([{"FILE": str(made), "OUT": str(folder / "out")}.get(word, word) for word in command])
    last = errors.splitlines()[-1] if errors else ""
    assert "MemoryError" not in errors and "Traceback" not in errors, errors
    if place == "other format":
        assert code in (0, 1, 2), errors
        return "read" if code < 2 else "refused"
    # A file whose suffix does not fit is refused for that; a study tells of a case first.
    unfit = code == 2 and "must end with" in last
    assert unfit or (code == 3 and str(made) in last), (code, errors)
    return "unfit" if unfit else place


def make(rng, path, place):
    if place == "folder":
        path.mkdir()
    elif place == "device":
        path.symlink_to(pick(rng, ("/dev/zero", "/dev/urandom", "/dev/null", "/dev/full")))
    elif place == "pipe":
        os.mkfifo(path)
    elif place == "link to nothing":
        path.symlink_to("nothing")
    elif place == "below a file":
        path.write_text("")
    elif place == "other format":
        path.write_bytes(
            pick(rng, (b"", b"1 2\n3 4\n", b"\x1f\x8b", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"BZh9", b"%%"))
        )


def output_is_input(rng, folder):
    A = lf.matrices.poisson((4, 4))
    scipy.io.mmwrite("A.mtx", A)
    np.save("b.npy", np.ones(16))
    for name in ("A.mtx", "b.npy", "sets.txt"):
        os.symlink(name, f"link-{name}")
        os.link(name, f"hard-{name}")
    prefix = pick(rng, ("", "./", "link-", "hard-", f"{folder}/", f"{folder}/link-"))
    if rng.random() < 0.3:
        words, given = ["join", "sets.txt", "--quiet", "--out"], "sets.txt"
    else:
        given = pick(rng, ("A.mtx", "b.npy"))
        words = ["solve", "A.mtx", "--rhs", "b.npy", "--quiet", pick(rng, ("--out", "--history"))]
    before = {name: open(name, "rb").read() for name in ("A.mtx", "b.npy", "sets.txt")}
    code, errors = run([*words, prefix + given, *(["--force"] if rng.random() < 0.8 else [])])
    assert code == 2 and given in errors, (code, errors)
    assert before == {name: open(name, "rb").read() for name in before}
    return "refused"


OUTPUTS = (
    ("x.npy", "solve poisson2d:4 --quiet --out FILE"),
    ("x.mtx", "solve poisson2d:4 --quiet --out FILE"),
    ("h.csv", "solve poisson2d:4 --quiet --no-out --history FILE"),
    ("p.svg", "solve poisson2d:4 --quiet --no-out --plot FILE"),
    ("pairs.csv", "join sets.txt --quiet --out FILE"),
    ("M.npz", None),
    ("t.mtx", None),
)
NODES = ("device", "pipe", "socket", "folder", "loop", "file", "missing")


def output_on_a_node(rng, folder):
    """An output, directly or behind links, on a node that is made here: a broken promise harms no device."""
    (name, command), node = pick(rng, OUTPUTS), pick(rng, NODES)
    (folder / "far").mkdir()
    links = int(rng.integers(3))
    place = folder / ("far/data" if links else name)
    make_node(place, node)
    for number in range(links, 0, -1):
        (folder / (name if number == 1 else f"link{number}")).symlink_to(
            place if number == links else folder / f"link{number + 1}"
        )
    path, before = folder / name, state(folder)
    try:
        if command is None:
            code, told = write_object(path)
        else:
            words = [str(path) if word == "FILE" else word for word in command.split()]
            code, told = run([*words, *(["--force"] if rng.random() < 0.7 else [])])
    except FileExistsError as error:
        code, told = 2, str(error)
    after = state(folder)
    if node in ("file", "missing") and code == 0:
        assert place.stat().st_size > 1 and stat.S_ISREG(place.lstat().st_mode)
        del after[place]
        before.pop(place, None)
    else:
        assert code == 2 and name in told, (code, told)
        assert node in ("file", "missing") or "is not a regular file" in told, told
    assert before == after, f"{node}: {set(before.items()) ^ set(after.items())}"
    return "written" if code == 0 else "refused"


def make_node(path, node):
    if node == "device":
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 7))  # as /dev/full
        except PermissionError:  # only root makes devices
            os.mkfifo(path)
    elif node == "pipe":
        os.mkfifo(path)
    elif node == "socket":
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(os.path.relpath(path))
    elif node == "folder":
        path.mkdir()
    elif node == "loop":
        path.symlink_to(path.name)
    elif node == "file":
        path.write_text("!")


def state(folder):
    """Number, kind and device of every file."""
    found = {path: os.lstat(path) for path in folder.rglob("*")}
    return {path: (each.st_ino, each.st_mode, each.st_rdev) for path, each in found.items()}


def write_object(path):
    if path.suffix == ".npz":
        lf.save_preconditioner(lf.jacobi(lf.matrices.poisson((3, 3))), path)
    else:
        lf.graph.write_traffic(path, lf.graph.traffic_matrix([1], [2]))
    return 0, ""


CASES = {
    "places of inputs": place_of_input,
    "outputs that are inputs": output_is_input,
    "outputs on other nodes": output_on_a_node,
}
