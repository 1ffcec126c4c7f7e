"""Files of finished cases that were damaged or edited: named in a warning, and not believed."""

import json
import os
import warnings

import pytest

from linforest_precond.study.cases import Case
from linforest_precond.study.store import Store, case_file

CASE = Case("A.mtx", title="A", origin="file")
RECORD = {
    **CASE.record(), "status": "done", "error": None, "seconds": 1.5, "rows": 3,
    "coverage": {"parallel": {"2": 0.9}},
}  # fmt: skip


@pytest.fixture
def kept(tmp_path):
    """The path of a case's file, and what is read from it."""
    store = Store(tmp_path, {"study": "forests"}, resume=True)
    store.keep(CASE, RECORD)
    path = tmp_path / "cases" / case_file(CASE.name)

    def read():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = store.kept(CASE)
        return found, [str(warning.message) for warning in caught]

    return path, read


def test_a_case_is_read_as_it_was_saved(kept):
    path, read = kept
    assert read() == (RECORD, [])
    document = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(document.items())), indent=2))  # the same contents
    assert read() == (RECORD, [])
    path.unlink()
    assert read() == (None, [])


CHANGES = {
    "a value": lambda document: document["case"]["coverage"]["parallel"].update({"2": 0.95}),
    "an integer": lambda document: document["case"].update(rows=3.0),
    "a missing field": lambda document: document["case"].pop("seconds"),
    "a further field": lambda document: document["case"].update(more=1),
    "another status": lambda document: document["case"].update(status="failed"),
    "no case": lambda document: document.pop("case"),
    "a list as case": lambda document: document.update(case=[]),
    "another stamp": lambda document: document["stamp"].update(study="rcm"),
    "no digest": lambda document: document.pop("digest"),
    "a digest that is none": lambda document: document.update(digest=[]),
}
TEXTS = [
    "",
    "{",
    "[]",
    "null",
    "1",
    '"\\ud800"',
    "[" * 100_000,
    "\udcff",
    '{"stamp": NaN}',
    "{}",
    '{"case": 1}',
]


@pytest.mark.parametrize("change", CHANGES)
def test_edited_files(kept, change):
    path, read = kept
    document = json.loads(path.read_text())
    CHANGES[change](document)
    path.write_text(json.dumps(document))
    assert_named(*read(), path)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:10]))
def test_files_that_are_no_cases(kept, text):
    path, read = kept
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert_named(*read(), path)


@pytest.mark.skipif(os.name != "posix", reason="no devices in the file system")
def test_endless_files(kept):
    path, read = kept
    path.unlink()
    path.symlink_to("/dev/zero")
    assert_named(*read(), path)


def assert_named(found, warned, path):
    assert found is None and len(warned) == 1
    assert str(path) in warned[0] and "A.mtx runs again" in warned[0]
