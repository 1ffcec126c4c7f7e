"""The command ``linforest``: its output, files and exit codes."""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import linforest_precond as lf
from linforest_precond.app import cli
from linforest_precond.app.commands import info as info_command
from linforest_precond.app.commands import preconditioners, study
from linforest_precond.app.commands import solve as solve_command
from linforest_precond.chooser.factorization import Factorization
from linforest_precond.solvers import live_line
from linforest_precond.study.papers import PAPERS
from linforest_precond.study.run import Session

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def linforest(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; returns the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(live_line, "LINE_INTERVAL", 1e6)  # a cold cache makes short solves long
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # small systems: on a busy machine more threads are slower

    def run(*arguments):
        capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    yield run
    numba.set_num_threads(threads)


def written(A, name="A.mtx"):
    """The matrix as a file in the current folder."""
    scipy.io.mmwrite(name, sp.coo_array(A), symmetry="general")
    return name


def unsymmetric(n=200):
    """1-D convection: diagonally dominant and far from symmetric."""
    return sp.diags_array([np.full(n - 1, -1.5), np.full(n, 3.0), np.full(n - 1, -0.5)], offsets=[-1, 0, 1])


def one_line(text):
    assert text.startswith("linforest: error: ") and text.count("\n") == 1, text
    return text


class TestUsage:
    def test_version(self, capsys):
        with pytest.raises(SystemExit) as ended:
            cli.main(["--version"])
        assert ended.value.code == 0
        assert capsys.readouterr().out == f"linforest {lf.__version__}\n"

    @pytest.mark.parametrize("command", [[], *([name] for name in cli.COMMANDS)])
    def test_help_has_examples_and_exit_codes(self, command, capsys):
        with pytest.raises(SystemExit) as ended:
            cli.main([*command, "--help"])
        text = capsys.readouterr().out
        assert ended.value.code == 0
        assert ("exit codes:" in text) == (not command) and "exit codes" in text
        assert "examples:" in text or command == ["config"]

    def test_help_explains_every_preconditioner(self, capsys):
        with pytest.raises(SystemExit):
            cli.main(["solve", "--help"])
        text = " ".join(capsys.readouterr().out.split())
        for name in ("auto", "none", *solve_command.CHOICES):
            assert re.search(rf"\b{name}(, \w+)?: ", text), name
        assert all(suffix in text for suffix in (".mtx", ".rb", ".mat", ".npz"))

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["nonsense"],
            ["solve"],
            ["solve", "A.mtx", "--precond", "ilut"],
            ["solve", "A.mtx", "--rtol", "small"],
            ["solve", "A.mtx", "--out", "x.npy", "--no-out"],
            ["study", "--quick", "--full"],
            ["study", "--only", "coverage,colours"],
            ["study", "--only", ","],
        ],
    )
    def test_wrong_usage_is_one_line(self, linforest, arguments):
        code, out, err = linforest(*arguments)
        assert (code, out) == (2, "")
        assert "--help" in one_line(err)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ("solv A.mtx", "; did you mean solve? (see linforest --help)"),
            (
                "solve A.mtx --preocnd jacobi",
                "--preocnd jacobi; did you mean --precond? (see linforest solve",
            ),
            ("solve A.mtx --rtl=1e-3", "; did you mean --rtol?"),
            ("solve A.mtx --precond jacbi", "; did you mean jacobi?"),
            ("info A.mtx --precond jacobi,multilevl", "; did you mean multilevel?"),
            ("warmup --dtype double", "double is none of float64, float32, complex128, complex64"),
            ("solve A.mtx --device gpu", "; did you mean cuda?"),
            ("INFO A.mtx", "; did you mean info?"),
            ("solve A.mtx more", "unrecognized arguments: more (see linforest solve --help)"),
            ("info poison2d:10", "; did you mean poisson2d:10?"),
            ("study aniso2:10 poison2d:10", "; did you mean poisson2d:10?"),
        ],
    )
    def test_the_nearest_word_is_named(self, linforest, arguments, words):
        code, out, err = linforest(*arguments.split())
        assert (code, out) == (2, "") and words in one_line(err)

    def test_config(self, linforest):
        code, out, err = linforest("config")
        assert code == 0 and "backend cpu" in out and err == ""

    def test_module_is_the_command(self, tmp_path):
        command = [sys.executable, "-m", "linforest_precond", "solve", "missing.mtx", "--no-out"]
        places = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": places}
        process = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert process.returncode == 3, process.stderr
        assert "missing.mtx" in one_line(process.stderr)

    @pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="tests run outside a source tree")
    def test_entry_point(self):
        scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
        assert scripts == {"linforest": "linforest_precond.app.cli:main"}


class TestErrors:
    def test_unknown_matrix(self, linforest):
        code, _, err = linforest("info", "no_such_matrix_anywhere", "--offline")
        assert code == 3 and "no_such_matrix_anywhere" in one_line(err)

    def test_missing_file(self, linforest):
        code, _, err = linforest("solve", "missing.mtx")
        assert code == 3 and "missing.mtx" in one_line(err)

    def test_broken_file(self, linforest):
        Path("broken.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n")
        code, _, err = linforest("info", "broken.mtx")
        assert code == 2 and "broken.mtx" in one_line(err)

    def test_rectangular_matrix(self, linforest):
        written(np.ones((3, 4)))
        code, _, err = linforest("solve", "A.mtx")
        assert code == 2 and "square" in one_line(err)
        assert os.listdir() == ["A.mtx"]

    def test_unusable_gpu(self, linforest, monkeypatch):
        monkeypatch.setattr("linforest_precond.backends.cuda_status", lambda: (False, "none is there"))
        code, _, err = linforest("solve", "aniso1:10", "--device", "cuda")
        assert code == 2 and "none is there" in one_line(err)

    def test_debug_shows_the_exception(self, linforest):
        with pytest.raises(Exception, match="missing.mtx"):
            linforest("solve", "missing.mtx", "--debug")
        with pytest.raises(Exception, match="missing.mtx"):
            linforest("--debug", "solve", "missing.mtx")

    @pytest.mark.parametrize(
        ("error", "code", "text"),
        [
            (KeyboardInterrupt(), 130, "linforest: interrupted\n"),
            (RuntimeError("two\nlines"), 2, "linforest: error: two lines\n"),
            (KeyError("key"), 2, "linforest: error: KeyError: 'key'\n"),
            (MemoryError(), 2, "linforest: error: MemoryError: \n"),
            (BrokenPipeError(), 141, ""),
        ],
    )
    def test_every_exception_has_a_code(self, linforest, monkeypatch, error, code, text):
        def fail(name, offline):
            raise error

        monkeypatch.setattr(lf.matrices, "load", fail)
        monkeypatch.setattr(cli, "_discard_output", lambda: None)
        ended, _, err = linforest("info", "aniso1:10")
        assert (ended, err) == (code, text)

    def test_a_broken_pipe(self, tmp_path):
        script = "import sys; from linforest_precond.app.cli import main; sys.exit(main(['config']))"
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        process.stdout.close()
        message = process.stderr.read().decode()
        process.stderr.close()
        assert process.wait() == 141 and message == ""


class TestSolve:
    def test_solves_and_writes(self, linforest):
        A = lf.matrices.aniso(2, 20)
        written(A)
        code, out, err = linforest("solve", "A.mtx", "--rhs", "sine", "--history", "h.csv", "--rtol", "1e-10")
        assert (code, err) == (0, "")
        x = np.load("A.x.npy")
        assert np.abs(x - np.sin(16 * np.pi * np.arange(400) / 400)).max() < 1e-7
        assert "history of cg" in out and "converged" in out and "error" in out and "A.x.npy" in out
        history = np.genfromtxt("h.csv", delimiter=",", names=True)
        assert history["residual"][-1] <= 1e-10 and history["error"][0] == pytest.approx(1)

    def test_no_file_is_overwritten(self, linforest):
        written(lf.matrices.poisson((8, 8)))
        Path("A.x.npy").write_text("precious")
        code, _, err = linforest("solve", "A.mtx")
        assert code == 2 and "--force" in one_line(err) and Path("A.x.npy").read_text() == "precious"
        Path("h.csv").write_text("precious")
        code, _, err = linforest("solve", "A.mtx", "--no-out", "--history", "h.csv")
        assert code == 2 and "h.csv" in one_line(err)
        assert linforest("solve", "A.mtx", "--force")[0] == 0
        assert np.load("A.x.npy").shape == (64,)

    def test_nothing_else_is_written(self, linforest):
        assert linforest("solve", "poisson2d:8", "--no-out")[0] == 0
        assert os.listdir() == []
        assert linforest("solve", "poisson2d:8")[0] == 0
        assert os.listdir() == ["poisson2d-8.x.npy"]

    @pytest.mark.parametrize("suffix", ["npy", "mtx", "txt"])
    def test_vectors_are_read_from_and_written_to_files(self, linforest, suffix):
        A = sp.csr_array(unsymmetric())
        x_true = np.random.default_rng(1).standard_normal(200)
        written(A)
        write = {"npy": np.save, "mtx": lambda f, x: scipy.io.mmwrite(f, x[:, None]), "txt": np.savetxt}
        write[suffix](f"b.{suffix}", A @ x_true)
        code, out, _ = linforest(
            "solve", "A.mtx", "--rhs", f"b.{suffix}", "--out", f"x.{suffix}", "--rtol", "1e-12"
        )
        assert code == 0 and "history of direct" in out
        read = {"npy": np.load, "mtx": lambda f: scipy.io.mmread(f)[:, 0], "txt": np.loadtxt}
        assert np.abs(read[suffix](f"x.{suffix}") - x_true).max() < 1e-9

    def test_continues_from_x0(self, linforest):
        common = ["solve", "poisson2d:20", "--precond", "tridiagonal", "--rhs", "random", "--seed", "3"]
        code, out, _ = linforest(*common, "--maxiter", "5", "--out", "x.npy")
        assert code == 1 and "maxiter: " in out and "Raise maxiter" in out
        code, out, _ = linforest(*common, "--x0", "x.npy", "--no-out")
        first = next(line for line in out.splitlines() if "first residual" in line)
        assert code == 0 and float(first.split()[-1]) < 1.0

    def test_several_columns(self, linforest):
        np.save("b.npy", np.random.default_rng(0).standard_normal((100, 3)))
        code, out, _ = linforest("solve", "poisson2d:10", "--rhs", "b.npy", "--out", "x.npy")
        assert code == 0 and "3 systems" in out and np.load("x.npy").shape == (100, 3)

    def test_scaling(self, linforest):
        common = ["solve", "aniso2:16", "--no-out", "--precond", "jacobi", "--scaling"]
        for scaling in ("equilibrate", "jacobi", "matching"):
            code, out, _ = linforest(*common, scaling)
            assert code == 0 and f"  {scaling}, " in out
        assert "scaling" not in linforest(*common, "auto")[1]
        code, _, err = linforest("solve", "aniso2:16", "--no-out", "--scaling", "matching")
        assert code == 2 and "--precond" in err

    @pytest.mark.parametrize("precond", ["none", *preconditioners.CHOICES])
    def test_preconditioners(self, linforest, precond):
        code, out, _ = linforest("solve", "aniso2:16", "--precond", precond, "--no-out")
        names = {
            "none": "nothing",
            **{name: choice.title for name, choice in preconditioners.CHOICES.items()},
        }
        assert code == 0 and names[precond] in out

    @pytest.mark.parametrize(
        ("alias", "title"),
        [("block", "2 x 2 block"), ("block-jacobi", "2 x 2 blocks on"), ("TriScal", "original order")],
    )
    def test_older_names_are_aliases(self, linforest, alias, title):
        code, out, _ = linforest("solve", "aniso2:16", "--precond", alias, "--no-out")
        assert code == 0 and title in out.partition("\n")[0]

    def test_multigrid_takes_its_options_and_its_solver(self, linforest):
        common = ["solve", "poisson2d:16", "--no-out", "--precond"]
        code, out, _ = linforest(*common, "multilevel", "--coarsening", "matching", "--cycle", "K")
        assert code == 0 and "K-cycle" in out and "history of fcg" in out
        code, _, err = linforest(*common, "ilu", "--cycle", "V")
        assert code == 2 and "--cycle is an option of --precond multilevel, got ilu" in one_line(err)

    def test_the_limit_of_iterations_is_stated(self, linforest):
        common = ["solve", "poisson2d:16", "--no-out", "--precond", "jacobi"]
        assert "cg, at most 2,560 iterations (--maxiter sets another limit)" in linforest(*common)[1]
        assert "cg, at most 7 iterations\n" in linforest(*common, "--maxiter", 7)[1]
        assert "at most 2,560 iterations" in linforest("solve", "poisson2d:16", "--no-out")[1]
        assert _limit_of(10**6) == 20_000

    def test_ctrl_c_before_there_is_an_x(self, linforest, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Factorization, "made", interrupted)
        code, _, err = linforest("solve", "poisson2d:16", "--out", "x.npy")
        assert (code, err) == (130, "linforest: interrupted\n") and not Path("x.npy").exists()

    @pytest.mark.parametrize("precond", ["jacobi", "auto"])
    def test_ctrl_c_writes_x_and_history(self, linforest, monkeypatch, precond):
        def stop(x):
            calls.append(1)
            if len(calls) == 8:
                raise KeyboardInterrupt

        calls = []
        stopping = {"jacobi": lf.solvers.cg, "auto": functools.partial(lf.solve, method="jacobi")}[precond]
        interrupted = functools.partial(stopping, callback=stop)
        monkeypatch.setitem(solve_command.SOLVERS, "cg", interrupted)
        monkeypatch.setattr(solve_command, "solve", interrupted)
        code, out, err = linforest(
            "solve", "poisson2d:16", "--precond", precond, "--out", "x.npy", "--history", "h.csv"
        )
        assert code == 130 and "linforest: interrupted; --x0 FILE continues from x" in err
        A, x = lf.matrices.poisson((16, 16)), np.load("x.npy")
        assert 0 < np.linalg.norm(1 - A @ x) < 16
        assert ("interrupted" if precond == "jacobi" else "Ctrl-C ended the runs.") in out
        assert len(Path("h.csv").read_text().splitlines()) >= 8

    @pytest.mark.parametrize("solver", ["cg", "bicgstab", "fcg"])
    def test_solvers(self, linforest, solver):
        code, out, _ = linforest("solve", "aniso1:16", "--solver", solver, "--no-out")
        assert code == 0 and f"history of {solver}" in out

    def test_auto_takes_bicgstab_where_the_diagonal_is_not_positive(self, linforest):
        written(sp.csr_array(-lf.matrices.poisson((120, 120)) - 10 * sp.eye_array(14_400)))
        assert "history of bicgstab" in linforest("solve", "A.mtx", "--no-out")[1]

    def test_without_options_it_shows_all_trials(self, linforest):
        code, out, err = linforest("solve", "poisson2d:20", "--no-out")
        assert (code, err) == (0, "") and "candidate" in out and "solved by lf." in out

    def test_what_is_not_solved_is_written_and_explained(self, linforest):
        A = sp.csr_array(np.array([[1.0, 1.0], [1.0, 1.0]]))
        np.save("b.npy", np.array([1.0, -1.0]))
        code, out, err = linforest("solve", written(A), "--rhs", "b.npy", "--out", "x.npy")
        assert (code, err) == (1, "") and "not solved" in out and "singular" in out
        assert np.load("x.npy").shape == (2,)

    def test_auto_takes_no_solver(self, linforest):
        code, _, err = linforest("solve", "poisson2d:8", "--precond", "auto", "--solver", "cg", "--no-out")
        assert code == 2 and "--solver cg" in one_line(err)

    @pytest.mark.filterwarnings("always:--solver:RuntimeWarning")
    def test_a_solver_for_symmetric_matrices_is_named(self, linforest):
        options = ["--solver", "minres", "--precond", "none", "--no-out"]
        code, _, err = linforest("solve", "convection2d:8", *options)
        assert code in (0, 1) and err.startswith("linforest: warning: --solver minres is for a sym")
        assert linforest("solve", "poisson2d:8", *options)[2] == ""

    def test_a_residual_of_zero_is_shown_as_such(self, linforest):
        code, out, _ = linforest("solve", written(sp.eye_array(30, format="csr")), "--no-out")
        assert code == 0 and "  0.0e+00  " in out

    def test_a_breakdown_is_reported_once(self, linforest):
        A = sp.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
        np.save("b.npy", np.array([1.0, -1.0]))
        options = ["--solver", "cg", "--precond", "none", "--rhs", "b.npy"]
        code, out, err = linforest("solve", written(A), *options)
        assert (code, err) == (1, "") and "indefinite: " in out

    @pytest.mark.filterwarnings("always:.*pivot:RuntimeWarning")
    def test_warnings_are_one_line(self, linforest):
        A = lf.matrices.poisson((6, 6)).tolil()
        A[0, 0] = 0.0
        code, _, err = linforest("solve", written(A), "--precond", "jacobi", "--no-out")
        assert code in (0, 1)
        assert err.startswith("linforest: warning: ") and ".py" not in err and err.count("\n") == 1

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--rhs", "b.dat"], ".npy, .mtx, .txt"),
            (["--rhs", "text.npy"], "text.npy"),
            (
                ["--rhs", "short.npy"],
                "--rhs: short.npy must have 64 rows, as A has, got an array of shape (3,)",
            ),
            (["--x0", "short.npy"], "--x0: short.npy must have 64 rows"),
            (["--rhs", "words.npy"], "--rhs: words.npy must hold numbers, got <U1"),
            (["--out", "x.dat"], "x.dat"),
            (["--out", "nowhere/x.npy"], "nowhere"),
            (["--no-out", "--plot", "p.doc"], "p.doc"),
            (["--rtol", "-1"], "rtol"),
            (["--maxiter", "-1"], "maxiter"),
        ],
    )
    def test_bad_input(self, linforest, options, words):
        Path("text.npy").write_text("no array")
        np.save("short.npy", np.ones(3))
        np.save("words.npy", ["a"] * 64)
        before = sorted(os.listdir())
        code, _, err = linforest("solve", "poisson2d:8", *options)
        assert code == 2 and words in one_line(err)
        assert sorted(os.listdir()) == before

    @pytest.mark.parametrize("option", ["--out", "--history"])
    @pytest.mark.parametrize("path", ["A.mtx", "./A.mtx", "link.mtx", "b.npy"])
    def test_inputs_are_not_replaced(self, linforest, option, path):
        content = Path(written(lf.matrices.poisson((4, 4)))).read_bytes()
        Path("link.mtx").symlink_to("A.mtx")
        np.save("b.npy", np.ones(16))
        code, _, err = linforest("solve", "A.mtx", "--rhs", "b.npy", option, path, "--force")
        assert code == 2 and f"{option}: {Path(path)} is read by this command" in one_line(err)
        assert Path("A.mtx").read_bytes() == content and Path("link.mtx").is_symlink()
        assert np.load("b.npy").tolist() == [1] * 16

    def test_x_may_replace_x0(self, linforest):
        np.save("x.npy", np.zeros(16))
        assert linforest("solve", "poisson2d:4", "--x0", "x.npy", "--out", "x.npy", "--force")[0] == 0
        assert np.load("x.npy").all()

    @pytest.mark.parametrize("place", ["missing", "folder"])
    @pytest.mark.parametrize(
        "command",
        [
            "info FILE.mtx", "solve FILE.mtx", "study FILE.mtx --offline", "traffic FILE.mtx",
            "traffic FILE.csv", "traffic FILE.npy", "join FILE.txt", "solve poisson2d:4 --rhs FILE.npy",
            "solve poisson2d:4 --rhs FILE.txt.gz", "solve poisson2d:4 --x0 FILE.mtx",
        ],
    )  # fmt: skip
    def test_files_that_are_not_there(self, linforest, command, place):
        name = next(word for word in command.split() if word.startswith("FILE"))
        if place == "folder":
            Path(name).mkdir()
        code, _, err = linforest(*command.split())
        assert code == 3
        expected = "is not a regular file" if place == "folder" else "does not exist"
        assert f"{name} {expected}" in err.splitlines()[-1]

    def test_pickles_are_rejected(self, linforest):
        np.save("b.npy", np.array([{}], dtype=object), allow_pickle=True)
        code, _, err = linforest("solve", "poisson2d:8", "--rhs", "b.npy", "--no-out")
        assert code == 2 and "b.npy" in one_line(err)

    @pytest.mark.parametrize(("name", "beginning"), [("p.svg", b"<?xml"), ("p.png", b"\x89PNG")])
    def test_picture(self, linforest, name, beginning):
        pytest.importorskip("matplotlib")
        code, _, _ = linforest("solve", "poisson2d:8", "--no-out", "--plot", name)
        assert code == 0 and Path(name).read_bytes().startswith(beginning)

    def test_picture_without_matplotlib(self, linforest, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        code, _, err = linforest("solve", "poisson2d:8", "--no-out", "--plot", "p.svg")
        assert code == 2 and "linforest-precond[study]" in one_line(err)

    @pytest.mark.gpu
    def test_on_the_gpu(self, linforest, cuda):
        code, out, _ = linforest("solve", "aniso2:30", "--rhs", "sine", "--device", "cuda", "--out", "x.npy")
        assert code == 0 and "solved by" in out
        code, out, _ = linforest(
            "solve", "aniso2:30", "--precond", "tridiagonal", "--device", "cuda", "--no-out"
        )
        assert code == 0 and "on cuda" in out
        assert linforest("solve", "aniso2:30", "--rhs", "sine", "--out", "y.npy")[0] == 0
        assert np.abs(np.load("x.npy") - np.load("y.npy")).max() < 1e-6


def _limit_of(rows):
    arguments = argparse.Namespace(maxiter=None)
    solve_command._state_limit(arguments, rows)
    return arguments.maxiter


class TestInfo:
    def test_columns_do_not_collide(self, linforest, monkeypatch):
        monkeypatch.setattr(info_command, "_milliseconds", lambda call, backend: next(times))
        times = iter([0.01, 10_228.0, 764.84])
        _, out, _ = linforest("info", "aniso2:5", "--precond", "jacobi")
        (line,) = [line for line in out.splitlines() if line.startswith("jacobi")]
        assert line.split()[-4:] == ["10,228", "1,022,800", "765", "76,484"]

    def test_trials_name_a_winner(self, linforest):
        code, out, err = linforest("info", "aniso2:16", "--try", "--precond", "jacobi,algtriscal")
        assert (code, err) == (0, "") and "Trial solves: " in out
        assert " wins, " in out or " ties with " in out
        rows = json.loads(
            linforest("info", "aniso2:16", "--try", "--precond", "jacobi,tridiagonal", "--json")[1]
        )["preconditioners"]
        assert list(rows) == ["jacobi", "tridiagonal"]
        history = lf.solvers.History()
        A = lf.matrices.aniso(2, 16)
        b = A @ np.random.default_rng(0).standard_normal(256)
        lf.solvers.cg(A, b, M=lf.jacobi(A), rtol=1e-8, history=history)
        assert rows["jacobi"]["trial"]["iterations"] == history.iterations[-1]
        assert rows["tridiagonal"]["trial"]["converged"]

    def test_unknown_preconditioners(self, linforest):
        code, _, err = linforest("info", "aniso2:16", "--precond", "jacobi,amg")
        assert code == 2 and "amg is none of jacobi, " in one_line(err)

    def test_a_table_and_advice(self, linforest):
        code, out, err = linforest("info", "aniso2:30")
        assert (code, err) == (0, "")
        for name in preconditioners.COMPARED:
            assert f"\n{name} " in out
        assert "linforest info aniso2:30 --try" in out and "Use cg" in out and "dominant rows    all" in out

    def test_json_agrees_with_the_library(self, linforest):
        A = lf.matrices.aniso(2, 30)
        code, out, _ = linforest("info", written(A), "--json")
        report = json.loads(out)
        rows = report["preconditioners"]
        assert code == 0 and report["properties"]["entries"] == A.nnz
        assert rows["tridiagonal_original"]["coverage"] == pytest.approx(lf.graph.identity_coverage(A))
        assert rows["tridiagonal"]["coverage"] == pytest.approx(lf.linear_forest(A).coverage)
        assert rows["block_tridiagonal"]["coverage"] == pytest.approx(lf.block_tridiagonal(A).coverage)
        assert (
            rows["block_tridiagonal"]["operator_bytes"] == lf.memory_estimate(A, "block_tridiagonal").operator
        )
        spmv = report["spmv_milliseconds"]
        assert rows["jacobi"]["apply_spmv"] == pytest.approx(rows["jacobi"]["apply_milliseconds"] / spmv)

    def test_a_missing_matrix_has_a_group_and_a_stand_in(self, linforest, monkeypatch, tmp_path):
        monkeypatch.setenv("LINFOREST_CACHE", str(tmp_path / "none"))
        monkeypatch.delenv("LINFOREST_MATRICES", raising=False)
        code, _, err = linforest("info", "Ecology1", "--offline")
        assert code == 3 and "MM/McRae/ecology1.tar.gz" in err and "standin:ecology1" in one_line(err)
        assert "standin" not in linforest("info", "HB/494_bus", "--offline")[2]

    def test_shows_the_origin_of_a_matrix(self, linforest):
        A = sp.coo_array(lf.matrices.poisson((4, 4)))
        scipy.io.mmwrite("A.mtx", A, comment=" author: A. Nonymous", symmetry="general")
        code, out, _ = linforest("info", "A.mtx")
        assert code == 0 and "author " in out and "A. Nonymous" in out
        assert json.loads(linforest("info", "A.mtx", "--json")[1])["origin"]["author"] == "A. Nonymous"

    @pytest.mark.filterwarnings("always:.*pivot:RuntimeWarning")
    @pytest.mark.filterwarnings("always:.*rows of the approximate inverse:RuntimeWarning")
    @pytest.mark.parametrize(
        ("A", "words"),
        [
            (sp.diags_array([1.0, 2.0, 3.0]), "matrix is diagonal"),
            (sp.csr_array(np.ones((2, 3))), "not square"),
            (sp.csr_array((0, 0)), "no rows"),
            (unsymmetric(), "use tridiagonal_original"),
            (sp.csr_array(np.zeros((4, 4))), "jacobi"),
        ],
    )
    def test_odd_matrices(self, linforest, A, words):
        code, out, _ = linforest("info", written(A))
        assert code == 0 and words in out

    @pytest.mark.gpu
    def test_on_the_gpu(self, linforest, cuda):
        printed = [linforest("info", "aniso2:30", "--json", "--device", name)[1] for name in ("cpu", "cuda")]
        reports = [json.loads(text) for text in printed]
        coverages = [[row["coverage"] for row in report["preconditioners"].values()] for report in reports]
        assert coverages[0] == pytest.approx(coverages[1])


def stand_in(folder, cases, interrupted=False, ended_by=None):
    """A fake run_paper that writes a given study and records its arguments."""

    def run_paper(paper, names=None, **options):
        run_paper.called = paper, names, options
        folder.mkdir()
        found = {"cases": cases, "interrupted": interrupted, "ended_by": ended_by}
        (folder / "study.json").write_text(json.dumps(found))
        return folder / "report.html"

    return run_paper


class TestStudy:
    def called(self, linforest, monkeypatch, arguments, cases, **options):
        run_paper = stand_in(Path("out"), cases, **options)
        monkeypatch.setattr(study, "run_paper", run_paper)
        return linforest("study", *arguments), run_paper

    def test_options_are_passed_on(self, linforest, monkeypatch):
        arguments = ["aniso2:20", "--out", "out", "--rtol", "1e-6", "--maxiter", "9", "--permutations", "3"]
        arguments += ["--offline", "--resume", "--full", "--only", "coverage, convergence", "--quiet"]
        cases = [{"name": "aniso2:20", "status": "done", "error": None}]
        (code, out, err), run_paper = self.called(linforest, monkeypatch, arguments, cases)
        assert (code, err) == (0, "")
        assert run_paper.called == (
            "forests",
            ["aniso2:20"],
            {
                "full": True,
                "device": "cpu",
                "out": "out",
                "offline": True,
                "resume": True,
                "force": False,
                "rtol": 1e-6,
                "maxiter": 9,
                "permutations": 3,
                "parts": ("coverage", "convergence"),
                "pictures": False,
                "markdown": None,
                "progress": False,
            },
        )
        assert "cases: 1 done\n" in out and (Path.cwd() / "out" / "report.html").as_uri() in out

    def test_multigrid_is_a_further_preconditioner(self, linforest, monkeypatch):
        arguments = ["--precond", "multilevel,approximate-inverse", "--smoother", "chebyshev", "--cycle", "W"]
        _, run_paper = self.called(linforest, monkeypatch, arguments, [])
        options = run_paper.called[-1]
        assert options["precond"] == ("multilevel", "approximate_inverse")
        assert (options["smoother"], options["cycle"]) == ("chebyshev", "W") and "coarsening" not in options

    def test_defaults(self, linforest, monkeypatch):
        _, run_paper = self.called(linforest, monkeypatch, [], [])
        paper, names, options = run_paper.called
        assert paper == "forests" and names is None and options["out"] == "linforest-study"
        assert not options["full"] and options["parts"] is None and "rtol" not in options

    def test_further_preconditioners(self, linforest, monkeypatch):
        _, run_paper = self.called(linforest, monkeypatch, ["--precond", "multilevel, ilu"], [])
        assert run_paper.called[2]["precond"] == ("multilevel", "ilu")

    def test_unknown_preconditioners_are_refused_before_any_work(self, linforest):
        code, _, err = linforest("study", "aniso2:9", "--precond", "multigrid", "--out", "none")
        assert code == 2 and 'precond must be "multilevel"' in one_line(err) and not Path("none").exists()

    def test_nothing_is_written_for_a_name_that_cannot_be_found(self, linforest):
        code, _, err = linforest("study", "no_such_matrix", "./nonesuch.mtx", "--offline", "--quiet")
        assert code == 3 and "no_such_matrix" in one_line(err) and "nonesuch.mtx" in err
        assert not list(Path.cwd().iterdir())
        code, out, err = linforest("study", "no_such_matrix", "--offline")
        assert (code, out) == (3, "") and err.count("error:") == 1

    def test_files_of_others_are_not_overwritten(self, linforest, monkeypatch):
        monkeypatch.setattr(Session, "_prepare", lambda *_: None)
        Path("mine").mkdir()
        Path("mine", "report.html").write_text("my own report")
        command = ["study", "aniso1:10", "--only", "coverage", "--quiet", "--out", "mine"]
        code, _, err = linforest(*command)
        assert code == 2 and "report.html exists and was not written by a study; --force" in one_line(err)
        assert [path.name for path in Path("mine").iterdir()] == ["report.html"]
        assert Path("mine", "report.html").read_text() == "my own report"
        assert linforest(*command, "--force")[0] == 0
        assert "my own report" not in Path("mine", "report.html").read_text()
        assert linforest(*command)[0] == 0  # its own

    def test_pages_of_others_are_not_overwritten(self, linforest):
        Path("forests.md").write_text("# My page")
        code, _, err = linforest("study", "aniso1:10", "--quiet", "--markdown", ".")
        assert code == 2 and "forests.md exists" in one_line(err) and not Path("linforest-study").exists()

    def test_failed_cases(self, linforest, monkeypatch):
        cases = [
            {"name": "good", "status": "done", "error": None},
            {"name": "bad", "status": "failed", "error": "it was too hard"},
            {"name": "far", "status": "missing", "error": "offline"},
        ]
        (code, out, _), _ = self.called(linforest, monkeypatch, [], cases)
        assert code == 1 and "cases: 1 done, 1 failed, 1 not available" in out and "it was too hard" in out

    @pytest.mark.parametrize(("named", "expected"), [([], 0), (["far"], 3)])
    def test_a_missing_matrix_is_an_error_if_named(self, linforest, monkeypatch, named, expected):
        cases = [{"name": "far", "status": "missing", "error": "put it there"}]
        (code, out, _), _ = self.called(linforest, monkeypatch, named, cases)
        assert code == expected and "put it there" in out

    @pytest.mark.parametrize(("words", "meant"), [(["rmc"], "rcm"), (["rcm", "rmc"], None), (["far"], None)])
    def test_the_nearest_paper_is_named(self, linforest, monkeypatch, words, meant):
        def nothing_is_found(*_, **__):
            raise lf.matrices.MatrixNotAvailable("no such matrix; did you mean HB/steam1?")

        monkeypatch.setattr(study, "run_paper", nothing_is_found)
        code, _, err = linforest("study", *words)
        hint = f"; did you mean {f'the paper {meant}' if meant else 'HB/steam1'}?"
        assert code == 3 and one_line(err) == f"linforest: error: no such matrix{hint}\n"

    @pytest.mark.parametrize(("signal", "expected"), [("SIGINT", 130), ("SIGTERM", 143)])
    def test_interrupted(self, linforest, monkeypatch, signal, expected):
        (code, out, _), _ = self.called(linforest, monkeypatch, [], [], interrupted=True, ended_by=signal)
        assert code == expected and "report.html" in out

    @pytest.mark.parametrize(
        ("words", "expected"),
        [(["forests", "a"], ("forests", ["a"])), (["a", "forests"], ("forests", ["a", "forests"]))],
    )
    def test_the_first_word_may_be_a_paper(self, linforest, monkeypatch, words, expected):
        _, run_paper = self.called(linforest, monkeypatch, words, [])
        assert run_paper.called[:2] == expected

    def test_help_lists_the_papers(self, capsys):
        with pytest.raises(SystemExit):
            cli.main(["study", "--help"])
        out = capsys.readouterr().out
        for paper in PAPERS.values():
            assert paper.reference.authors in out and paper.reference.title in out
            assert all(part in out for part in paper.parts)

    @pytest.mark.slow
    def test_with_the_real_run_study(self, linforest):
        pytest.importorskip("matplotlib")
        code, out, _ = linforest("study", "aniso2:20", "--offline", "--quiet", "--permutations", "1")
        report = Path("linforest-study", "report.html")
        assert code == 0 and report.is_file() and report.resolve().as_uri() in out
