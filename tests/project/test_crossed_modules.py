"""docs/architecture.md states how many modules calls cross."""

from pathlib import Path

import pytest
from crossed_modules import CALLS, crossed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"


@pytest.mark.skipif(not PAGE.exists(), reason="tests run outside a source tree")
@pytest.mark.parametrize("name", CALLS)
def test_the_page_counts_them(name):
    run, given = crossed(name)
    row = f"| `{name}` | {CALLS[name][0] ** 2:,} | {len(run)} | {len(given)} |"
    assert row in PAGE.read_text(encoding="utf-8").splitlines(), row
