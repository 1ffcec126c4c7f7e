"""What the command prints and writes: hostile names and texts, unwritable folders, full disks, Ctrl-C."""

import gc
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linforest_precond.app import cli
from linforest_precond.app.commands import inputs, solve, vectors
from linforest_precond.records.printing import encodable, one_line, printable

ROOT = Path(__file__).resolve().parents[2]
TEXT = "%%MatrixMarket matrix coordinate real symmetric\n{}3 3 4\n1 1 2.0\n2 1 -1.0\n2 2 2.0\n3 3 1.0\n"
# Bytes that are not UTF-8, ANSI escapes, a newline, right-to-left override, a formula, a leading hyphen.
NAMES = (b"\xff\xfe.mtx", b"\x1b[31mred.mtx", b"two\nlines.mtx", "\u202extm.mtx".encode(), b"$\\frac{1}$.mtx",
         b"-A.mtx", b"a b.mtx", "\u05d0\u05d1.mtx".encode(), b"x" * 240 + b".mtx")  # fmt: skip


@pytest.fixture
def linforest(tmp_path, monkeypatch):
    """Run the command in this process with real streams; returns the exit code and the bytes printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdout=None):
        with (
            open(tmp_path / ".out", "w+b") as out,
            open(tmp_path / ".err", "w+b") as err,
            monkeypatch.context() as patch,
        ):
            patch.setattr(
                sys, "stdout", open(stdout or out.fileno(), "w", encoding="utf-8", closefd=bool(stdout))
            )
            patch.setattr(sys, "stderr", open(err.fileno(), "w", encoding="utf-8", closefd=False))
            code = cli.main([os.fsdecode(argument) for argument in arguments])
            sys.stdout.flush()
            sys.stderr.flush()
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    return run


def assert_printable(output):
    """Valid UTF-8 without control characters but line breaks."""
    text = output.decode("utf-8")
    assert all(char.isprintable() or char == "\n" for char in text), text
    return text


def write(name, comments=""):
    Path(os.fsdecode(name)).write_bytes(TEXT.format(comments).encode("utf-8", "surrogateescape"))
    return b"./" + name


@pytest.mark.parametrize("name", NAMES)
class TestNames:
    def test_a_solve(self, linforest, name):
        code, out, err = linforest("solve", write(name), "--history", "h.csv")
        assert (code, err) == (0, b"")
        assert_printable(out)
        assert len([path for path in os.listdir() if path.endswith(".x.npy")]) == 1

    def test_a_missing_file(self, linforest, name):
        code, _, err = linforest("solve", b"./no-" + name)
        assert code in (2, 3) and assert_printable(err).count("\n") == 1

    def test_options(self, linforest, name):
        code, _, err = linforest("solve", "poisson2d:4", "--no-out", "--rhs", b"./" + name)
        assert code == 3 and assert_printable(err).count("\n") == 1


def test_texts_of_a_file_cannot_control_the_terminal(linforest, monkeypatch):
    from linforest_precond.app.commands import info

    monkeypatch.setattr(info, "_measure", lambda A, found, arguments: (1.0, {}))
    monkeypatch.setattr(info, "advice", lambda found, measured, name: ["fine"])
    hostile = "\x1b]0;owned\x07\x1b[2J\x9b31m \u202e\r\x08 " + "long " * 5000
    comments = "".join(f"% {key}: {hostile}\n" for key in ("author", "title", "date", "kind", "name", "ed"))
    path = write(b"A.mtx", comments + "%\n% author:\n%   \n")
    code, out, err = linforest("info", path)
    assert (code, err) == (0, b"") and len(out) < 20_000
    assert r"\x1b]0;owned\x07\x1b[2J\x9b31m" in assert_printable(out)
    code, out, _ = linforest("info", path, "--json")
    assert json.loads(out)["origin"]["author"].startswith("\x1b]0;owned") and b"\x1b" not in out


def test_json_of_a_name_that_is_not_utf8(linforest, monkeypatch):
    from linforest_precond.app.commands import info

    monkeypatch.setattr(info, "_measure", lambda A, found, arguments: (1.0, {}))
    monkeypatch.setattr(info, "advice", lambda found, measured, name: ["fine"])
    code, out, _ = linforest("info", write(b"\xff.mtx"), "--json")
    assert code == 0 and json.loads(out)["name"] == r"./\xff.mtx"


def test_an_encoding_without_the_characters(monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    monkeypatch.setattr("linforest_precond.app.commands.config.show_config", lambda: print("\u00d7"))
    assert cli.main(["config"]) == 0 and printed.getvalue() == b"\\xd7\n"


class TestOutputs:
    def no_work(self, monkeypatch):
        monkeypatch.setattr(solve.matrices, "load", lambda *_, **__: pytest.fail("worked before the checks"))

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
    @pytest.mark.parametrize("option", ["--out", "--history", "--plot"])
    def test_an_unwritable_folder_is_found_before_the_work(self, linforest, monkeypatch, option):
        self.no_work(monkeypatch)
        others = [] if option == "--out" else ["--no-out"]
        name = {"--out": "x.npy", "--history": "h.csv", "--plot": "p.svg"}[option]
        code, _, err = linforest("solve", "poisson2d:8", option, f"/proc/{name}", *others)
        assert code == 2 and f"{option}: /proc/{name} cannot be written".encode() in err

    def test_the_current_folder(self, linforest, monkeypatch):
        self.no_work(monkeypatch)
        monkeypatch.setattr(vectors, "check_writable", refuse)
        code, _, err = linforest("solve", "poisson2d:8")
        assert code == 2 and b"poisson2d-8.x.npy cannot be written" in err

    def test_a_folder_in_place_of_the_file(self, linforest, monkeypatch):
        self.no_work(monkeypatch)
        os.mkdir("x.npy")
        code, _, err = linforest("solve", "poisson2d:8", "--out", "x.npy", "--force")
        assert code == 2 and b"--out: x.npy: it exists and is not a regular file" in err

    def test_one_file_for_two_outputs(self, linforest, monkeypatch):
        self.no_work(monkeypatch)
        code, _, err = linforest("solve", "poisson2d:8", "--out", "a.txt", "--history", "a.txt")
        assert code == 2 and b"different files" in err

    def test_a_check_leaves_no_file(self, tmp_path):
        vectors.check_output(tmp_path / "x.npy", (".npy",), "--out", False, ())
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk_leaves_no_file(self, tmp_path, small_files):
        for name, x in (("x.npy", np.ones(10_000)), ("x.mtx", np.ones(10_000)), ("x.txt", np.ones(10_000))):
            with small_files(), pytest.raises(OSError, match=name):
                vectors.write_vector(tmp_path / name, x)
        gc.collect()  # Python 3.12 crashes where the errors keep a view of a stream
        assert list(tmp_path.iterdir()) == []

    def test_default_names_are_short_and_stay_in_the_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in map(os.fsdecode, NAMES):
            plain = inputs.plain_name(name)
            assert plain and "/" not in plain and len(os.fsencode(f"{plain}.x.npy")) < 200
        assert inputs.plain_name("größe.mtx") == "größe"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_behind_the_standard_output(self, tmp_path):
        command = f"{sys.executable} -m linforest_precond config >/dev/full"
        process = subprocess.run(command, shell=True, stderr=subprocess.PIPE, cwd=ROOT)
        assert process.returncode == 2
        assert process.stderr.startswith(b"linforest: error: ") and process.stderr.count(b"\n") == 1

    def test_a_closed_standard_output(self):
        command = f"{sys.executable} -m linforest_precond config >&-"
        process = subprocess.run(command, shell=True, stderr=subprocess.PIPE, cwd=ROOT)
        assert (process.returncode, process.stderr) == (0, b"")


def refuse(folder):
    raise PermissionError(13, "Permission denied", str(folder))


AS_MODULE = ["-m", "linforest_precond"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
class TestInterrupt:
    @pytest.fixture
    def importing(self, tmp_path):
        """Start the command; it hangs in an import, as on a cold disk."""
        (tmp_path / "numba.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
        script = tmp_path / "linforest"
        script.write_text("import sys\nfrom linforest_precond.app.cli import main\nsys.exit(main())\n")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        processes = []

        def start(*arguments):
            process = subprocess.Popen(
                [sys.executable, *(str(script) if word == "SCRIPT" else word for word in arguments)],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            processes.append(process)
            assert process.stdout.readline() == b"importing\n"
            process.send_signal(signal.SIGINT)
            return process.communicate(timeout=20)[1], process.returncode

        yield start
        for process in processes:
            process.kill()
            process.communicate()

    @pytest.mark.parametrize("command", [["-m", "linforest_precond"], ["-mlinforest_precond"], ["SCRIPT"]])
    def test_ctrl_c_during_the_imports_is_one_line(self, importing, command):
        assert importing(*command, "config") == (b"linforest: interrupted\n", 130)

    def test_a_users_own_script_gets_the_exception(self, importing):
        err, _ = importing("-c", "import linforest_precond as lf; lf.jacobi([[1.0]])")
        assert b"KeyboardInterrupt" in err

    def test_afterwards_python_handles_it(self, monkeypatch):
        from linforest_precond.app import interrupts

        before = signal.getsignal(signal.SIGINT)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            monkeypatch.setattr(sys, "argv", ["/usr/bin/linforest"])
            interrupts.guard_imports()
            assert signal.getsignal(signal.SIGINT) is interrupts.end_quietly
            interrupts.end_of_imports()
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under nohup
            interrupts.guard_imports()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)


class TestPrintable:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("plain é × א\u00a0ב\u3000", "plain é × א\u00a0ב\u3000"),
            ("a\tb\nc", r"a\tb\nc"),
            ("\x1b[0m\x9b\x7f\x00", r"\x1b[0m\x9b\x7f\x00"),
            ("\udcff\ud800\U000e0001", r"\xff\ud800\U000e0001"),
            ("\u202e\u2066\u200f\u2028\ufeff", r"\u202e\u2066\u200f\u2028\ufeff"),
        ],
    )
    def test_characters(self, text, expected):
        assert printable(text) == expected

    def test_kept_characters(self):
        assert printable("a\tb\n\x1b", keep="\n\t") == "a\tb\n\\x1b"

    def test_lines_are_joined_and_cut(self):
        assert one_line(" a\r\nb\x1bc ") == r"a b\x1bc"
        assert (
            one_line("") == "" and len(one_line("x" * 10**6)) < 2100 and len(one_line("\x1b" * 10**6)) < 2100
        )

    def test_only_surrogates_are_not_encodable(self):
        assert encodable("\x1b\udcfe\ud800é") == "\x1b\\xfe\\ud800é"
