"""Tables for people. A status is shape, word and colour, so it also says itself in grey.

Whatever others wrote is cleaned before it is printed, and never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from cli import say
from cli.columns import Columns
from cli.far.text import clean
from cli.unread import end_unread

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


def table(columns: Columns, rows: Iterable[Sequence[Cell]], nothing: str) -> None:
    """`nothing`: the sentence where there is no row."""
    found = [[_text(cell) for cell in row] for row in rows]
    if not found:
        say.text(nothing)
        return
    shown = console()
    for each in columns.lines(found, shown.width if shown.is_terminal else None):
        shown.print(each, soft_wrap=True)


def names(references: Sequence[str]) -> Sequence[str]:
    """NAMESPACE/NAME; for a person without a namespace that all of them have."""
    shared = {it.partition("/")[0] for it in references}
    if len(shared) > 1 or not console().is_terminal:
        return references
    return [it.partition("/")[2] for it in references]


def facts(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Name and value, a pair a line; what is empty is left out, and nothing is wrapped."""
    known = [(name, _text(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in known), default=0) + 2
    for name, value in known:
        console().print(Text(name.ljust(width)) + value, soft_wrap=True)


def line(*parts: Cell, indent: int = 0) -> None:
    """The parts with a space between; empty ones are left out."""
    found = [_text(it) for it in parts if it]
    console().print(Text("  " * indent) + Text(" ").join(found), soft_wrap=True)


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(clean(cell))


class _Output(Console):
    """Standard output, whose reader may leave before the end: `gitops task list | head -1`."""

    def on_broken_pipe(self) -> None:
        end_unread()


def console() -> Console:
    return _Output(highlight=False)
