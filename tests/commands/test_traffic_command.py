"""``linforest traffic``: the table, JSON, several files, and errors in one line."""

import json

import pytest

from linforest_precond.app import cli

EXPECTED = {
    "valid_packets": 6, "unique_links": 2, "largest_link": 5, "unique_sources": 2, "largest_source": 5,
    "largest_fan_out": 1, "unique_destinations": 1, "largest_destination": 6, "largest_fan_in": 2,
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "packets.csv"
    path.write_text(
        "source,destination,packets\n10.0.0.1,192.0.2.7,2\n10.0.0.1,192.0.2.7,3\n10.0.0.9,192.0.2.7,1\n"
    )
    return str(path)


def test_table_and_json(file, capsys):
    assert cli.main(["traffic", file]) == 0
    assert "largest destination  6" in capsys.readouterr().out
    assert cli.main(["traffic", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == EXPECTED
    assert cli.main(["traffic", file, file, "--json", "--batches", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["valid_packets"] == 12


@pytest.mark.parametrize(
    "arguments, word",
    [(["missing.csv"], "missing.csv"), (["FILE", "--batches", "0"], "batches"), (["BAD"], "two")],
)
def test_errors_are_one_line(file, tmp_path, arguments, word, capsys):
    bad = tmp_path / "two.csv"
    bad.write_text("1,2\n3,4,5\n")
    arguments = [{"FILE": file, "BAD": str(bad)}.get(each, each) for each in arguments]
    assert cli.main(["traffic", *arguments]) not in (0, None)
    captured = capsys.readouterr()
    assert captured.out == "" and word in captured.err and captured.err.count("\n") == 1
