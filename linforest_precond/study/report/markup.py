"""Generates HTML; everything that is not of the type `Html` is escaped, control characters too."""

from __future__ import annotations

from typing import Any

from linforest_precond.records.printing import escape

VOID = ("br", "img", "meta")


class Html(str):
    """Text that is HTML and must not be escaped."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """
    One element. Plain strings among the children are escaped, lists are joined, None is left out.

    Attributes that are None or False are left out, True stands alone; a trailing underscore is dropped and
    other underscores become hyphens: ``class_``, ``aria_label``.

    Examples
    --------
    >>> from linforest_precond.study.report.markup import tag
    >>> tag("p", "a < b, ", tag("em", "really"), class_="note")
    '<p class="note">a &lt; b, <em>really</em></p>'
    >>> tag("img", alt='"x"')
    '<img alt="&quot;x&quot;">'
    """
    start = f"<{name}{''.join(map(_attribute, attributes.items()))}>"
    return Html(start if name in VOID else f"{start}{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """The children concatenated, plain strings escaped."""
    return Html("".join(map(_child, children)))


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, list | tuple):
        return join(*child)
    return child if isinstance(child, Html) else escape(str(child))


def _attribute(item: tuple[str, Any]) -> str:
    name, value = item
    name = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
