"""The programs of examples/gallery are short, and their stored output is of the present program."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "examples" / "gallery"

pytestmark = pytest.mark.skipif(not GALLERY.exists(), reason="tests run outside a source tree")


@pytest.fixture(scope="module")
def examples():
    spec = importlib.util.spec_from_file_location("run_examples", ROOT / "examples" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_programs_are_short(examples):
    assert len(examples.programs()) >= 13
    for program in examples.programs():
        lines = program.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60 and lines[0].endswith("."), program.name


def test_outputs_are_of_the_present_programs(examples):
    for program in examples.programs():
        if not examples.record_of(program).exists():
            assert program.stem.startswith("cupy"), f"run examples/run.py {program.stem} --write"
            continue
        digest, where, output = examples.recorded(program)
        assert digest == examples.digest(program), f"run examples/run.py {program.stem} --write"
        assert where and " s   " in output, program.name


def test_outputs_name_no_folder(examples):
    for program in examples.programs():
        if examples.record_of(program).exists():
            assert "/tmp/" not in examples.recorded(program)[2]


def test_programs_without_their_packages_are_left_out(examples, tmp_path, monkeypatch, capsys):
    program = tmp_path / "nothing.py"
    program.write_text('"""Nothing."""\n\nimport package_that_is_nowhere\n')
    monkeypatch.setattr(examples, "programs", lambda: [program])
    assert examples.main([]) == 0
    assert capsys.readouterr().out == "nothing: left out, needs package_that_is_nowhere\n"
