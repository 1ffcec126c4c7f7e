"""The wheel and the source archive contain the whole package and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "linforest_precond"
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
LINKED = ("matrices", "solvers")  # folders of the top level that are linked into the package

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="tests run outside a source tree"
)


def needs_build_tools():
    pytest.importorskip("build", reason="the package build is not installed")
    pytest.importorskip("setuptools", reason="the package setuptools is not installed")
    if int(metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("building needs setuptools 77 or newer")


def copy_tree(target):
    """A copy of the source tree without build and test artefacts."""
    leftovers = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info")
    return shutil.copytree(ROOT, target, symlinks=True, ignore=leftovers)


def run(*command, cwd):
    """Run Python from `cwd` without this checkout on its path; return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def build(tree, out, *what):
    run(
        "-m",
        "build",
        "--no-isolation",
        "--skip-dependency-check",
        "--outdir",
        out,
        *what,
        tree,
        cwd=out.parent,
    )
    return out


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A folder with the source archive, and the wheel built from it."""
    needs_build_tools()
    folder = tmp_path_factory.mktemp("packaging")
    return build(copy_tree(folder / "tree"), folder / "dist")


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def target(wheel, tmp_path_factory):
    """An empty folder with nothing but the wheel installed into it."""
    pytest.importorskip("pip")
    folder = tmp_path_factory.mktemp("target")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel, cwd=folder)
    return folder


def package_files():
    """Every file of the package in the checkout, linked folders under their package names."""
    own = {path for path in _sources(PACKAGE) if path.parts[1] not in LINKED}
    linked = {PACKAGE / path for folder in LINKED for path in _sources(folder)}
    return {path.as_posix() for path in own | linked}


def _sources(folder):
    """The files of a folder to install; no compiled and no editor files."""
    patterns = ("*.py", "*.csv", "*.cu", "*.cuh", "*.css", "*.html", "*.md", "*.toml", "py.typed")
    return (path.relative_to(ROOT) for pattern in patterns for path in (ROOT / folder).rglob(pattern))


def listed():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_package_list_matches_the_tree():
    folders = {str(Path(file).parent) for file in package_files() if file.endswith("__init__.py")}
    assert sorted(listed()["tool"]["setuptools"]["packages"]) == sorted(
        f.replace(os.sep, ".") for f in folders
    )


def test_every_module_is_in_a_package():
    folders = {Path(file).parent for file in package_files()}
    packages = {Path(file).parent for file in package_files() if file.endswith("__init__.py")}
    kernels = Path(PACKAGE, "backends", "cuda", "kernels")
    data = {kernels, Path(PACKAGE, "study", "templates")}
    assert folders - packages - data == {path.relative_to(ROOT) for path in (ROOT / kernels).iterdir()}


@pytest.mark.parametrize("folder", LINKED)
def test_linked_folders_are_relative_links(folder):
    link = ROOT / PACKAGE / folder
    if not link.is_symlink():
        pytest.skip("this checkout has no symbolic links")
    assert os.readlink(link) == os.path.join("..", folder)


def without_links(tree):
    """Replace the links of a copied tree by text files, as Git does where there are no symbolic links."""
    for folder in LINKED:
        link = tree / PACKAGE / folder
        link.unlink(missing_ok=True)  # a source archive has none
        link.write_text(f"../{folder}")
    return tree


def copy_packages(target):
    """A copy of the Python sources alone."""
    target.mkdir()
    for folder in (PACKAGE, *LINKED):
        shutil.copytree(
            ROOT / folder, target / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    return target


def test_a_checkout_without_symbolic_links_imports(tmp_path):
    tree = without_links(copy_packages(tmp_path / "tree"))
    script = "import linforest_precond as lf; from linforest_precond.solvers.status import Status;"
    script += "print(lf.matrices.poisson((3, 3)).nnz, Status.from_info(1), lf.solvers.__file__)"
    assert run("-c", script, cwd=tree).split() == ["33", "maxiter", str(tree / "solvers" / "__init__.py")]


def test_versions_agree():
    version = listed()["project"]["version"]
    source = (ROOT / PACKAGE / "__init__.py").read_text()
    assert re.search(r'^__version__ = "(.*)"$', source, re.MULTILINE)[1] == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text()
    assert f'  version: "{version}"\n' in RECIPE.read_text()


def test_the_conda_recipe_has_the_requirements_of_the_package():
    project = listed()["project"]
    requirements = [*project["dependencies"], f"python{project['requires-python']}"]
    found = re.search(r"\n  run:\n((?:    - .*\n)+)", RECIPE.read_text())[1]
    assert sorted(found.replace("    - ", "").replace(" ", "").split()) == sorted(requirements)


def test_every_supported_python_is_tried_and_named():
    needed = listed()["project"]["requires-python"].removeprefix(">=")
    tried = re.search(r"PYTHONS = \((.*)\)", (ROOT / "packaging" / "check_dist.py").read_text())[1]
    versions = re.findall(r"3\.\d+", tried)
    named = [f"Programming Language :: Python :: {version}" for version in versions]
    assert versions[0] == needed and set(named) <= set(listed()["project"]["classifiers"])


def test_extras_have_lower_bounds():
    extras = listed()["project"]["optional-dependencies"]
    assert {"torch", "jax"} <= extras.keys()
    for need in (need for needs in extras.values() for need in needs):
        assert ">=" in need or need.startswith("linforest-precond["), need


def test_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        (top_level,) = (name for name in archive.namelist() if name.endswith("top_level.txt"))
        assert archive.read(top_level).decode().split() == [PACKAGE]
        assert any(name.endswith("licenses/LICENSE") for name in archive.namelist())
    assert sorted(names) == sorted(package_files())


def test_source_archive_holds_what_the_wheel_needs(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {re.sub(f"^{PACKAGE}/({'|'.join(LINKED)})/", r"\1/", file) for file in package_files()}
    assert needed | {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff"} <= names
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    assert tests <= names and not any("__pycache__" in name for name in names)


def test_every_module_imports_from_the_installed_wheel(target, tmp_path):
    script = f"""
import importlib, pkgutil, sys
sys.path.insert(0, {str(target)!r})
package = importlib.import_module({PACKAGE!r})
names = [module.name for module in pkgutil.walk_packages(package.__path__, {PACKAGE + "."!r})]
for name in names:
    assert importlib.import_module(name).__file__.startswith({str(target)!r}), name
print(*names)
"""
    imported = run("-c", script, cwd=tmp_path).split()
    modules = {
        file.removesuffix(".py").removesuffix("/__init__") for file in package_files() if file.endswith(".py")
    }
    assert sorted([PACKAGE, *imported]) == sorted(module.replace("/", ".") for module in modules)


def test_every_kernel_is_read_from_the_installed_wheel(target, tmp_path):
    script = f"""
import sys
sys.path.insert(0, {str(target)!r})
import linforest_precond.backends.cuda
from linforest_precond.backends.cuda.runtime import loader
assert loader.__file__.startswith({str(target)!r})
for name, program in loader.PROGRAMS.items():
    text = program.text()
    assert "__global__" in text and "common.cuh" in text, name
print(*loader.PROGRAMS)
"""
    folder = ROOT / PACKAGE / "backends" / "cuda" / "kernels"
    kernels = (path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.cu"))
    assert sorted(run("-c", script, cwd=tmp_path).split()) == sorted(kernels)


@pytest.mark.slow
def test_a_checkout_without_symbolic_links_builds_the_same_wheel(wheel, tmp_path):
    tree = without_links(copy_tree(tmp_path / "tree"))
    (other,) = build(tree, tmp_path / "dist", "--wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(other) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())
