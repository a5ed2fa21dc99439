"""Tables for people. A status is shape, word and colour, so it is readable without colours.

Text of other people is cleaned before it is printed, and never read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from cli import output
from cli.output import end_unread
from cli.remote.formatting import clean

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
    "Successful": ("●", "green"),
    "Failed": ("◆", "red"),
    "allowed": ("✓", "green"),
    "denied": ("✗", "red"),
}
_WORST = (
    ("Degraded", "lost", "failed", "Failed"),
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
    """Rank a status for sorting: the least needs a person most."""
    ranks = [next((i for i, rank in enumerate(_WORST) if it in rank), len(_WORST)) for it in words]
    return min(ranks, default=len(_WORST))


def table(columns: Columns, rows: Iterable[Sequence[Cell]], nothing: str) -> None:
    """Print a table; `nothing` is the sentence printed without rows."""
    found = [[_text(cell) for cell in row] for row in rows]
    if not found:
        output.text(nothing)
        return
    shown = console()
    for each in columns.lines(found, shown.width if shown.is_terminal else None):
        shown.print(each, soft_wrap=True)


def names(references: Sequence[str]) -> Sequence[str]:
    """Name objects NAMESPACE/NAME; in a terminal without a namespace that all of them share."""
    shared = {it.partition("/")[0] for it in references}
    if len(shared) > 1 or not console().is_terminal:
        return references
    return [it.partition("/")[2] for it in references]


def facts(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Print pairs of name and value, a line each; empty values are left out, long ones wrapped."""
    known = [(name, _text(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in known), default=0) + 2
    for name, value in known:
        _print(Text(name.ljust(width)) + value, indent=width)


def line(*parts: Cell, indent: int = 0) -> None:
    """Print parts with a space between; empty parts are left out."""
    found = [_text(it) for it in parts if it]
    _print(Text("  " * indent) + Text(" ").join(found), indent=2 * indent + 2)


def _print(text: Text, indent: int) -> None:
    """Print text, wrapped between words in a terminal, and as one line in a pipe."""
    shown = console()
    if shown.is_terminal:
        text = wrapped(text, shown.width, indent)
    shown.print(text, soft_wrap=True)


def wrapped(text: Text, width: int, indent: int) -> Text:
    """Wrap text to lines of whole words, the later ones indented; a long word stays whole."""
    breaks, begin, space = [], 0, width
    for word in re.finditer(r"\S+", text.plain[indent:]):
        start, end = word.start() + indent, word.end() + indent
        if end - begin > space and start > indent:
            breaks.append(start)
            begin, space = start, max(1, width - indent)
    lines = list(text.divide(breaks))
    for line in lines:
        line.rstrip()
    return Text("\n" + " " * indent).join(lines)


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(clean(cell))


class _Output(Console):
    """Standard output whose reader may leave early, as in `gitops task list | head -1`."""

    def on_broken_pipe(self) -> None:
        end_unread()


def console() -> Console:
    return _Output(highlight=False)


_GAP = 2
_INDENT = "    "
"""Of a line that continues a row."""
_SHORTEST_SENTENCE = 24
"""Cells below which the beginning of a sentence is useless."""

Row = Sequence[Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns with their heads; the first `kept` stay, and `sentence` may shorten the last."""

    head: Sequence[str]
    kept: int = 1
    sentence: bool = False

    def lines(self, rows: Sequence[Row], width: int | None) -> Iterable[Text]:
        """Make the lines of head and rows; `width` is None where the output is no terminal."""
        table = [tuple(Text(it, style="bold") for it in self.head), *rows]
        filled = [i for i in range(len(self.head)) if any(row[i].plain for row in rows)]
        sizes = {i: max(row[i].cell_len for row in table) for i in filled}
        chosen = filled if width is None else self._fitting(filled, sizes, width)
        lines = [chosen] if width is None else _folded(chosen, sizes, width)
        return [_row(row, lines, sizes) for row in table]

    def _fitting(self, filled: Sequence[int], sizes: dict[int, int], width: int) -> list[int]:
        """Choose the columns that fit; the sentence's entry in `sizes` is changed."""
        chosen = list(filled)
        while _total(chosen, sizes) > width:
            last = chosen[-1]
            rest = width - _total(chosen[:-1], sizes) - _GAP
            if self.sentence and last == len(self.head) - 1 and rest >= _SHORTEST_SENTENCE:
                sizes[last] = rest
            elif last < self.kept:
                break
            else:
                chosen.pop()
        return chosen


def _total(chosen: Sequence[int], sizes: dict[int, int]) -> int:
    return sum(sizes[i] for i in chosen) + _GAP * max(0, len(chosen) - 1)


def _folded(chosen: Sequence[int], sizes: dict[int, int], width: int) -> list[list[int]]:
    """Fold a row into lines of as many columns as fit, at least one."""
    lines: list[list[int]] = [[]]
    for i in chosen:
        space = width - (len(_INDENT) if len(lines) > 1 else 0)
        if lines[-1] and _total([*lines[-1], i], sizes) > space:
            lines.append([])
        lines[-1].append(i)
    return lines


def _row(row: Row, lines: Sequence[Sequence[int]], sizes: dict[int, int]) -> Text:
    return Text("\n" + _INDENT).join(_line(row, chosen, sizes) for chosen in lines)


def _line(row: Row, chosen: Sequence[int], sizes: dict[int, int]) -> Text:
    line = Text()
    for i in chosen:
        cell = row[i].copy()
        cell.truncate(sizes[i], overflow="ellipsis", pad=i != chosen[-1])
        line.append_text(cell).append(" " * (_GAP if i != chosen[-1] else 0))
    line.rstrip()
    return line
