"""What colours mean, as a line of text."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """A swatch and a word for each (name, colour)."""
    items = Markup("").join(
        Markup('<li><i class="swatch" style="background:{}"></i>{}</li>').format(colour, name)
        for name, colour in entries
    )
    return Markup('<ul class="legend">{}</ul>').format(items)
