"""How a long build looks: a bar with the time that is left on a terminal, plain lines in a log."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from playground.compiling import Progress, Watcher


@contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    if not console.is_terminal:
        yield _plain_lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console) as bar:
        yield _on_bar(bar)


def _on_bar(bar: Bar) -> Watcher:
    task = bar.add_task("one-time build", total=None, left="")

    def watch(progress: Progress) -> None:
        title = f"\\[{progress.step}/{progress.steps}] {progress.activity}"
        left = f"about {_spoken(progress.left)} left"
        done, total = progress.done, progress.total
        bar.update(task, description=title, completed=done, total=total, left=left)

    return watch


def _plain_lines() -> Watcher:
    """One line when something new is done: a log is read later."""
    shown = ""

    def watch(progress: Progress) -> None:
        nonlocal shown
        if progress.activity == shown:
            return
        shown = progress.activity
        place = f"[{progress.step}/{progress.steps}]"
        sys.stderr.write(f"{place} {progress.activity}, about {_spoken(progress.left)} left\n")

    return watch


def _spoken(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
