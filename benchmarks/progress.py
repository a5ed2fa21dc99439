"""What a long benchmark is doing: a bar with the time that is left on a terminal, else lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

Say = Callable[[int, int], None]
"""How many are done, of how many."""


@dataclass(frozen=True, slots=True)
class Screen:
    console: Console
    bar: Progress | None

    def say(self, what: str) -> None:
        self.console.print(what, markup=False, highlight=False)

    @contextmanager
    def doing(self, what: str) -> Iterator[Say]:
        if self.bar is None:
            self.say(what)
            yield lambda _done, _all: None
            return
        bar, task = self.bar, self.bar.add_task(what, total=None)
        try:
            yield lambda done, total: bar.update(task, completed=done, total=total)
        finally:
            bar.remove_task(task)


@contextmanager
def open_screen(console: Console) -> Iterator[Screen]:
    if not console.is_terminal:
        yield Screen(console, None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield Screen(console, bar)
