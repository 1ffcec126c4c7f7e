"""The top of the page: title, summary and contents."""

from __future__ import annotations

from linforest_precond.study import formats
from linforest_precond.study.csv_tables import done
from linforest_precond.study.json_types import JsonObject
from linforest_precond.study.paper import Finding
from linforest_precond.study.report.blocks import Section, paragraph
from linforest_precond.study.report.markup import Html, tag


def page_title(study: JsonObject) -> str:
    return study.get("title") or "A study"


def header(study: JsonObject, findings: list[Finding], parts: list[Section]) -> Html:
    """Title, description of the run, summary, and links to the sections."""
    links = [tag("a", part.heading, href=f"#{part.anchor}") for part in parts]
    return tag(
        "header",
        tag("h1", page_title(study)),
        paragraph(what_was_run(study), kind="lead"),
        paragraph(_interruption(study), kind="note warning") if study.get("interrupted") else None,
        _summary(findings),
        tag("nav", links, aria_label="Contents"),
    )


def _summary(findings: list[Finding]) -> Html:
    if not findings:
        return paragraph("No case has finished yet.", kind="note warning")
    rows = [tag("div", tag("dt", topic), tag("dd", sentence)) for topic, sentence in findings]
    return tag("section", tag("h2", "Summary"), tag("dl", rows), class_="summary", aria_label="Summary")


def _interruption(study: JsonObject) -> str:
    finished = len(done(study))
    return (
        f"This study was interrupted: {finished} of {len(study['cases'])} cases are done. "
        "The same command with --resume continues it."
    )


def what_was_run(study: JsonObject) -> str:
    """One paragraph: mode, device, machine, versions and dates."""
    return " ".join(filter(None, (_extent(study), _machine(study), _versions(study))))


def _extent(study: JsonObject) -> str:
    cases, finished = len(study["cases"]), len(done(study))
    mode = f"A {study['mode']} study" if study.get("mode") else "A study"
    device = {"cpu": "on the CPU", "cuda": "on the GPU"}.get(str(study.get("device")), "")
    stand_ins = sum(map(formats.is_standin, done(study)))
    some = f", {stand_ins} of them {'a stand-in' if stand_ins == 1 else 'stand-ins'}" if stand_ins else ""
    count = f"{finished} of {cases} {'case' if cases == 1 else 'cases'} done{some}"
    return " ".join(filter(None, (mode, device))) + f": {count}. {_dates(study)}"


def _dates(study: JsonObject) -> str:
    start, end = study.get("started"), study.get("finished")
    if not start:
        return ""
    took = formats.elapsed(start, end)
    whole = f", which took {formats.seconds(took)}" if took is not None else ""
    return f"Started {formats.moment(start)}" + (f", finished {formats.moment(end)}{whole}." if end else ".")


def _machine(study: JsonObject) -> str:
    machine = study.get("machine") or {}
    memory = machine.get("memory_gib")
    parts = [
        machine.get("gpu"),
        machine.get("processor"),
        _numbered(machine.get("cores"), "core"),
        None if formats.missing(memory) else f"{memory:.0f} GiB of memory",
        machine.get("system"),
    ]
    known = ", ".join(str(part) for part in parts if part)
    return f"Machine: {known}." if known else ""


def _numbered(number: int | None, noun: str) -> str | None:
    return None if number is None else f"{number} {noun}{'' if number == 1 else 's'}"


def _versions(study: JsonObject) -> str:
    versions = (study.get("machine") or {}).get("versions") or {}
    known = [f"{name} {version}" for name, version in versions.items() if version]
    return f"Versions: {', '.join(known)}." if known else ""
