"""Every CUDA program compiles, without a GPU, with the loader's exact text and options.

A quick run ends after the compiler's front end; the slow tests generate, optimize and assemble every program.
"""

import concurrent.futures
import ctypes
import ctypes.util
import functools
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from linforest_precond import backends
from linforest_precond.backends.cuda.runtime import loader, structs
from linforest_precond.backends.cuda.runtime.loader import PROGRAMS, Program
from linforest_precond.study.forests import recording

# The options that CuPy adds.
CUPY_OPTIONS = ("-ftz=true",)
# The front end alone takes a twentieth of the time, and finds the same errors in the text.
FRONT_END = ("--fdevice-syntax-only",)
# The value types of a quick run, where a program is compiled for complex ones at all.
QUICK_VALUES = (np.float64, np.complex64)


def _nvrtc_candidates():
    """Candidate paths of NVRTC: wheels, CUDA toolkits, the system's library search."""
    for folder in map(Path, sys.path):
        yield from sorted(folder.glob("nvidia/*/lib/libnvrtc.so.*"), reverse=True)
        yield from sorted(folder.glob("nvidia/*/bin/**/nvrtc64_*.dll"), reverse=True)
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if variable in os.environ:
            yield from sorted(Path(os.environ[variable]).glob("lib*/libnvrtc.so.*"), reverse=True)
    yield from sorted(Path("/usr/local").glob("cuda*/lib64/libnvrtc.so.*"), reverse=True)
    yield ctypes.util.find_library("nvrtc")


@functools.cache
def nvrtc():
    for candidate in filter(None, _nvrtc_candidates()):
        try:
            return ctypes.CDLL(str(candidate))
        except OSError:
            continue
    pytest.fail("NVRTC was not found: install the package nvidia-cuda-nvrtc (it is in the extra `test`)")


def nvrtc_version():
    """(major, minor)."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    assert nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) == 0
    return major.value, minor.value


def compile_log(text, options):
    """Compile `text`; return NVRTC's log and whether it compiled."""
    library = nvrtc()
    handle = ctypes.c_void_p()
    status = library.nvrtcCreateProgram(ctypes.byref(handle), text.encode(), b"program.cu", 0, None, None)
    assert status == 0
    encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = library.nvrtcCompileProgram(handle, len(options), encoded)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(handle, log)
    library.nvrtcDestroyProgram(ctypes.byref(handle))
    return log.value.decode(), status == 0


def test_every_source_file_is_a_program_or_part_of_one():
    files = {f"{room.name}/{file.name}" for room in structs.KERNELS.iterdir() for file in room.iterdir()}
    assert {file for file in files if file.endswith(".cu")} == {f"{name}.cu" for name in PROGRAMS}
    text = "".join(program.text() for program in PROGRAMS.values())
    assert all(f'kernels/{file}"' in text for file in files)
    assert all(f'kernels/{loader.PRELUDE}"' in program.text() for program in PROGRAMS.values())


def test_every_kernel_is_named_by_a_wrapper():
    texts = [path.read_text(encoding="utf-8") for path in structs.KERNELS.parent.rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in Path(backends.__file__).parent.glob("*.py")]
    words = set(re.findall(r"\w+", "".join(texts)))
    kernels = set(recording.kernel_files())
    # Numbers at the end of a name are filled in: f"count_short_rows_{slots}".
    assert {kernel for kernel in kernels if not words & {kernel, re.sub(r"\d+(_\d+)*$", "", kernel)}} == set()


def some_cases(name):
    """Combinations of macros that meet every choice of each macro once, values of two types only."""
    cases = PROGRAMS[name].cases
    if any(case.get("VALUE") is np.complex64 for case in cases):
        cases = [case for case in cases if case["VALUE"] in QUICK_VALUES]
    chosen, missing = [], {choice for case in cases for choice in case.items()}
    while missing:
        chosen.append(max(cases, key=lambda case: len(missing & case.items())))
        missing -= chosen[-1].items()
    return chosen


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_compiles(name):
    assert_compiles(name, some_cases(name), "compute_90", FRONT_END)


@pytest.mark.parametrize(
    "macro",
    [
        "WEIGHT",
        "INDEX",
        "DEGREE",
        "BLOCK",
        "KIND",
        "TEAM",
        "TEAMS",
        "WIDTH",
        "PIECE",
        "SWITCHES",
        "STAGED",
        "SPLIT",
        "MD5",
    ],
)
def test_every_choice_is_compiled(macro):
    for name, program in PROGRAMS.items():
        if macro in program.cases[0]:
            assert {case[macro] for case in some_cases(name)} == {case[macro] for case in program.cases}


# ptxas takes as long as the compiler.
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_assembles_for_every_type(name, architecture):
    assert_compiles(name, PROGRAMS[name].cases, architecture)


def assert_compiles(name, cases, architecture, more_options=()):
    text, options_for = PROGRAMS[name].text(), PROGRAMS[name].options

    def failure(macros):
        options = (*options_for(**macros), *CUPY_OPTIONS, f"--gpu-architecture={architecture}", *more_options)
        log, compiled = compile_log(text, options)
        return None if compiled else f"{name} {options} {architecture}\n{log}"

    nvrtc()  # loaded before the threads use it
    # The compiler releases the GIL.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = list(filter(None, pool.map(failure, cases)))
    assert cases
    assert not failures, "\n".join(failures)


def test_options_carry_the_types():
    assert loader.macro_options(VALUE=np.complex64, INDEX="int64", DEGREE=2) == (
        "-DDEGREE=2",
        "-DINDEX=long long",
        "-DVALUE=Complex64",
        "-DWEIGHT=float",
    )


def test_calls_may_leave_out_macros_with_one_meaning(monkeypatch):
    monkeypatch.setattr(loader, "PROGRAMS", {})
    types = [{"VALUE": np.float32, "RESULT": np.float64}, {"VALUE": np.float64, "RESULT": np.float64}]
    program = Program("room/tool", types, INDEX=loader.INDICES, WIDE=loader.wide_type, PIECE=64)
    assert len(program.cases) == 4 and loader.PROGRAMS == {"room/tool": program}
    assert program.cases[1] == {**types[0], "INDEX": np.int64, "WIDE": np.float64, "PIECE": 64}
    left_out = program.options(**types[0], INDEX=np.int64)
    assert (
        left_out == program.options(**program.cases[1]) != program.options(**{**program.cases[1], "PIECE": 8})
    )
    assert "-DPIECE=64" in left_out and "-DWIDE=double" in left_out


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_solutions_may_differ_in_rounding(name):
    options = PROGRAMS[name].options(**PROGRAMS[name].cases[0])
    solving = "tridiagonal/sweeps", "tridiagonal/pivoting", "tridiagonal/refinement", "ilu/triangular"
    krylov = "krylov/arnoldi", "krylov/idr", "krylov/updates", "krylov/spmv", "krylov/segmented_spmv"
    fused = *solving, *krylov, "multigrid/vector_ops", "multigrid/dense_inverse"
    assert ("--fmad=false" in options) == (name not in fused)


def test_every_struct_is_checked_where_it_is_defined():
    texts = [program.text() for program in PROGRAMS.values()]
    assert sum(map(len, structs.MIRRORS.values())) > 30
    for file, found in structs.MIRRORS.items():
        for mirror in found:
            check = f"static_assert(sizeof({mirror.name}) == {mirror.size}"
            including = [text for text in texts if f'kernels/{file}"' in text]
            assert including and all(check in text for text in including), (file, mirror.name)


PART = """typedef long long i64;
template <typename T>
using In = const T* __restrict__;
struct Part {
    In<double> at;  // one; two
    const int *first, *second[2];
    i64 total,
        counts[2];
    double share;

    __device__ i64 sum() const {
        i64 all = counts[0];
        return all + counts[1];
    }
};
"""


def test_fields_are_read_from_the_source(sources, monkeypatch):
    monkeypatch.setattr(structs, "MIRRORS", {})
    sources["tool.cu"] = PART
    mirror = structs.Struct("Part", "tool.cu", second="PP", counts="qq")
    assert mirror.fields == {
        "at": "P", "first": "P", "second": "PP", "total": "q", "counts": "qq", "share": "d",
    }  # fmt: skip
    packed = mirror(at=None, first=1, second=[2, 3], total=4, counts=[5, 6], share=0.5)
    assert packed.nbytes == mirror.size == 64 and packed.view(np.int64)[:-1].tolist() == list(range(7))
    log, compiled = compile_log(loader._text("tool"), ())
    assert compiled, log


@pytest.mark.parametrize(
    "fields", [{"second": "P"}, {"second": "PPP"}, {"counts": "q"}, {"counts": "ii"}, {"total": "i"}]
)
def test_a_mirror_that_differs_does_not_compile(sources, monkeypatch, fields):
    monkeypatch.setattr(structs, "MIRRORS", {})
    sources["tool.cu"] = PART
    structs.Struct("Part", "tool.cu", **{"second": "PP", "counts": "qq", **fields})
    log, compiled = compile_log(loader._text("tool"), ())
    if compiled and nvrtc_version() < (13, 4):
        pytest.skip("this NVRTC compares the sizes of structs alone")
    assert not compiled and "Part" in log


@pytest.fixture
def sources(monkeypatch):
    """A folder of sources in memory instead of the package's."""
    files = {loader.PRELUDE: "// The head of every program.\n"}
    monkeypatch.setattr(structs, "source", files.__getitem__)
    loader._text.cache_clear()
    yield files
    loader._text.cache_clear()


def test_compiler_messages_point_at_the_real_lines(sources):
    sources["common.cuh"] = "#pragma once\n__device__ INDEX twice(INDEX x) { return 2 * x; }\n"
    sources["tool.cu"] = (
        '// A tool.\n#include "common.cuh"\n'
        'extern "C" __global__ void tool(INDEX* x) { *x = twice(*x); }\nbroken line;\n'
    )
    options = loader.macro_options(INDEX=np.int64)
    log, compiled = compile_log(loader._text("tool"), options)
    assert not compiled
    assert "kernels/tool.cu(4): error" in log
    sources["tool.cu"] = sources["tool.cu"].replace("broken line;\n", "")
    sources["common.cuh"] += "broken header;\n"
    loader._text.cache_clear()
    assert "kernels/common.cuh(3): error" in compile_log(loader._text("tool"), options)[0]


def test_every_program_begins_with_the_prelude(sources):
    sources[loader.PRELUDE] = "using Vertex = INDEX;\n"
    sources["tool.cu"] = 'extern "C" __global__ void tool(Vertex* x) { *x = 1; }\n'
    log, compiled = compile_log(loader._text("tool"), loader.macro_options(INDEX=np.int64))
    assert compiled, log


def test_the_header_stands_in_the_text(sources):
    sources["common.cuh"] = "#pragma once\nusing Vertex = INDEX;\n"
    sources["tool.cu"] = '#include "common.cuh"\nextern "C" __global__ void tool(Vertex* x) { *x = 1; }\n'
    assert "#include" not in loader._text("tool")
    for index in (np.int32, np.int64):
        log, compiled = compile_log(loader._text("tool"), loader.macro_options(INDEX=index))
        assert compiled, log
