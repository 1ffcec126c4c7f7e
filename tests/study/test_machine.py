"""The name of the processor, which systems tell in different ways."""

import pytest

from linforest_precond.study import machine

X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"
LSCPU = "Architecture:   aarch64\nVendor ID:    ARM\nModel name:             Neoverse-V1\nModel:  1\n"


@pytest.mark.parametrize(
    ("cpuinfo", "commands", "processor", "name"),
    [
        (X86, {}, "", "Intel(R) Xeon(R) Platinum"),
        (ARM, {"lscpu": LSCPU}, "aarch64", "Neoverse-V1"),
        (
            ARM,
            {"lscpu": LSCPU.replace("Neoverse-V1", "-")},
            "aarch64",
            "ARM core, implementer 0x41, part 0xd40",
        ),
        (ARM, {}, "aarch64", "ARM core, implementer 0x41, part 0xd40"),
        (None, {"sysctl": "Apple M3 Pro"}, "arm", "Apple M3 Pro"),
        (None, {}, "Intel64 Family 6 Model 85", "Intel64 Family 6 Model 85"),
        (None, {}, "aarch64", "aarch64"),
    ],
    ids=["x86", "ARM", "unnamed", "no lscpu", "macOS", "Windows", "nothing known"],
)
def test_the_processor_has_a_name(monkeypatch, tmp_path, cpuinfo, commands, processor, name):
    path = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        path.write_text(cpuinfo)
    monkeypatch.setattr(machine, "CPU_INFO", path)
    monkeypatch.setattr(machine, "output_of", lambda program, *_: commands.get(program, machine.UNKNOWN))
    monkeypatch.setattr(machine.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(machine.platform, "processor", lambda: processor)
    assert machine._cpu_model() == name


@pytest.mark.parametrize(
    ("named", "checkout", "commit"),
    [("abc", True, "abc"), ("", True, "def"), ("abc", False, "abc"), ("", False, machine.UNKNOWN)],
)
def test_the_commit_is_of_the_variable_or_of_the_checkout(monkeypatch, tmp_path, named, checkout, commit):
    """The checkout around an installed package is another project's."""
    if checkout:
        (tmp_path / ".git").touch()
    monkeypatch.setenv("LINFOREST_COMMIT", named)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr(machine, "output_of", lambda *command: "def")
    assert machine.surroundings("cpu")["commit"] == commit
