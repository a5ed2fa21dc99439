"""Sync options of one command: those that it can honour, and why not the others. Pure.

An option of an Application that nobody acts on is a warning. One that somebody asks for now, by
name, is refused: doing something else than what was asked for would be worse than nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handlers.application.unsupported import unsupported_options

_OF_DELETION = "Delete="


def option_problems(written: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each option that cannot be honoured; none where all can."""
    return tuple(_problems(tuple(word.strip() for word in written)))


def _problems(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        if word.startswith(_OF_DELETION):
            yield (
                f"sync option {word!r} is about deleting the application, not about one sync; "
                "write it into spec.syncPolicy.syncOptions"
            )
            continue
        for one in unsupported_options((word,)):
            yield f"sync option {word!r} is refused: this version cannot do it ({one.consequence})"
