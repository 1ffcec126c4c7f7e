"""Sessions of nox for those who use it: each runs the target of the Makefile of the same name."""

import nox

TARGETS = "demo", "test", "test-all", "test-oldest", "coverage", "lint", "docs"


@nox.session(venv_backend="none")
@nox.parametrize("target", TARGETS, ids=TARGETS)
def make(session: nox.Session, target: str) -> None:
    """Run a target; the Makefile makes the environments."""
    session.run("make", target, external=True)
