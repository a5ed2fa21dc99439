"""Columns of a table that fit a terminal without cutting what names a thing. Pure.

The first columns are kept at any width; the others leave from the right until a row fits. What is
empty in every row is left out. Only the last column, a sentence, is shortened to the place that is
left. Nobody looks at a pipe: there every column of every row stands whole in one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

_GAP = 2
_SHORTEST_SENTENCE = 24
"""Cells below which the beginning of a sentence says nothing."""

Row = Sequence[Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """`kept`: how many never leave; `sentence`: whether the last one may be shortened."""

    head: Sequence[str]
    kept: int = 1
    sentence: bool = False

    def lines(self, rows: Sequence[Row], width: int | None) -> Iterable[Text]:
        """The head and each row; `width`: None where nobody looks."""
        table = [tuple(Text(it, style="bold") for it in self.head), *rows]
        filled = [i for i in range(len(self.head)) if any(row[i].plain for row in rows)]
        sizes = {i: max(row[i].cell_len for row in table) for i in filled}
        chosen = filled if width is None else self._fitting(filled, sizes, width)
        return [_line(row, chosen, sizes) for row in table]

    def _fitting(self, filled: Sequence[int], sizes: dict[int, int], width: int) -> list[int]:
        """`sizes` is changed where the sentence is shortened."""
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


def _line(row: Row, chosen: Sequence[int], sizes: dict[int, int]) -> Text:
    line = Text()
    for i in chosen:
        cell = row[i].copy()
        cell.truncate(sizes[i], overflow="ellipsis", pad=i != chosen[-1])
        line.append_text(cell).append(" " * (_GAP if i != chosen[-1] else 0))
    line.rstrip()
    return line
