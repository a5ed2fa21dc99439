"""Tables for people. A status is shape, word and colour, so it also says itself in grey.

Whatever others wrote is cleaned before it is printed, and never read as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.far.text import clean

_WIDE = 500
"""Columns where nobody looks: a pipe gets each row as one line."""
_MARKS = {
    "Healthy": ("●", "green"),
    "Progressing": ("◔", "cyan"),
    "Degraded": ("◆", "red"),
    "Suspended": ("‖", "magenta"),
    "Missing": ("○", "yellow"),
    "Unknown": ("?", "yellow"),
    "Synced": ("✓", "green"),
    "OutOfSync": ("⧉", "yellow"),
    "connected": ("●", "green"),
    "stale": ("◔", "yellow"),
    "disconnected": ("○", "yellow"),
    "lost": ("◆", "red"),
    "waiting": ("‖", "magenta"),
    "revoked": ("✗", "red"),
    "queued": ("‖", "magenta"),
    "offered": ("‖", "magenta"),
    "running": ("◔", "cyan"),
    "succeeded": ("✓", "green"),
    "failed": ("◆", "red"),
    "expired": ("◆", "red"),
    "cancelled": ("○", "yellow"),
    "unknown": ("?", "yellow"),
    "allowed": ("✓", "green"),
    "denied": ("✗", "red"),
}
_WORST = (
    ("Degraded", "lost", "failed"),
    ("Missing", "revoked", "expired"),
    ("Unknown", "disconnected", "unknown"),
    ("OutOfSync", "stale", "cancelled"),
    ("Progressing", "waiting", "running"),
    ("Suspended", "offered", "queued"),
)

Cell = str | Text


def status(word: str) -> Text:
    shape, colour = _MARKS.get(word, ("", ""))
    return Text(f"{shape} {clean(word)}".strip(), style=colour)


def badness(*words: str) -> int:
    """Least for what needs a person most; for sorting."""
    ranks = [next((i for i, rank in enumerate(_WORST) if it in rank), len(_WORST)) for it in words]
    return min(ranks, default=len(_WORST))


def table(head: Sequence[str], rows: Iterable[Sequence[Cell]], nothing: str) -> None:
    """`nothing`: the sentence where there is no row."""
    shown = Table(*head, box=None, pad_edge=False)
    for row in rows:
        shown.add_row(*(it if isinstance(it, Text) else Text(clean(it)) for it in row))
    if shown.row_count:
        console().print(shown)
    else:
        sys.stdout.write(f"{nothing}\n")


def facts(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Name and value, a pair a line; what is empty is left out."""
    shown = Table.grid(padding=(0, 2))
    for name, value in pairs:
        if value:
            shown.add_row(name, value if isinstance(value, Text) else Text(clean(value)))
    console().print(shown)


def line(*parts: Cell, indent: int = 0) -> None:
    """The parts with a space between; empty ones are left out."""
    said = [it if isinstance(it, Text) else Text(clean(it)) for it in parts if it]
    console().print(Text("  " * indent) + Text(" ").join(said), soft_wrap=True)


def console() -> Console:
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=_WIDE)
