"""`Findings`: the sentences of a study's summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from linforest_precond.study.results import JsonObject, done


class Finding(NamedTuple):
    """A topic in a word or two, and a sentence computed from the results."""

    topic: str
    sentence: str


# From the rows of a study to a sentence, None where they give none.
Sentence: TypeAlias = Callable[[Any], str | None]


class Findings:
    """The summary of a study: functions that return a sentence each, in the order of their definitions."""

    def __init__(self) -> None:
        self.sentences: list[tuple[str, Callable[[JsonObject], Any], Sentence]] = []

    def about(
        self, topic: str, rows: str | Callable[[JsonObject], Any] = lambda study: study
    ) -> Callable[[Sentence], Sentence]:
        """
        A decorator: the function takes `rows` of the study and returns the sentence about a topic.

        `rows` is a function of the study, or the name of a part, of which the finished cases are taken; by
        default the function takes the study.
        """

        def added(sentence: Sentence) -> Sentence:
            take = (lambda study: done(study, rows)) if isinstance(rows, str) else rows
            self.sentences.append((topic, take, sentence))
            return sentence

        return added

    def __call__(self, study: JsonObject) -> list[Finding]:
        """The findings of a study."""
        taken = [(topic, rows(study), sentence) for topic, rows, sentence in self.sentences]
        made = [(topic, sentence(rows)) for topic, rows, sentence in taken if rows]
        return [Finding(topic, text) for topic, text in made if text]
