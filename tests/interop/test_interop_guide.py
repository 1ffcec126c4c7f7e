"""The code of the guide's page on other libraries runs where they are installed, and prints what is shown."""

import re
from pathlib import Path

import pytest
from interop_libraries import require

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "interchange.md"
PROGRAM = re.compile(r"^```python\n# needs (\w+)\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = [
    pytest.mark.skipif(not GUIDE.exists(), reason="tests run outside a source tree"),
    pytest.mark.filterwarnings("ignore:Sparse:UserWarning"),
]


@pytest.mark.parametrize("name, least", [("torch", 2), ("JAX", 2)])
def test_code_of_the_guide_runs(name, least, capsys):
    require(name.lower())
    programs = [found.group(2, 3) for found in PROGRAM.finditer(GUIDE.read_text()) if found[1] == name]
    assert len(programs) >= least
    for code, shown in programs:
        exec(compile(code, "a block of code", "exec"), {})
        assert capsys.readouterr().out == shown
