"""`Settings`: the options that all studies have."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from linforest_precond.backends import require_device
from linforest_precond.backends.arguments import as_choice
from linforest_precond.study.results import JsonObject


@dataclass(frozen=True)
class Settings:
    """The options of a study; a paper with more of them has a subclass, and its fields are options too."""

    device: str = "cpu"
    full: bool = False
    parts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_choice("device", self.device, ("cpu", "cuda"))
        require_device(self.device)

    @property
    def mode(self) -> str:
        return "full" if self.full else "quick"

    def as_dict(self) -> JsonObject:
        """The settings that a study records; results with other settings are not reused."""
        fields = asdict(self)
        own = {name: value for name, value in fields.items() if name not in ("device", "full", "parts")}
        return own | {"parts": [*self.parts]}
