"""What a sync or rollback would do, asked of the agent now: nothing is ordered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cli import say
from cli.columns import Columns
from cli.far import show
from cli.far.asking import asked
from cli.far.client import Far

_DONE = ("create", "change", "prune")
_LEFT = ("refuse", "skip")


async def told(
    far: Far, path: str, body: Mapping[str, Any], seconds: float, *, as_json: bool
) -> say.Exit:
    """Exit code 1 if it would do something or be refused, as a difference has."""
    preview = await asked(far, path, seconds, body)
    if as_json:
        say.line(preview)
    else:
        columns = Columns(head=("Would", "Object", "Why"), kept=2, sentence=True)
        show.table(columns, _rows(preview), "It would change nothing.")
    wrong = any(preview.get(verb) for verb in (*_DONE, "refuse"))
    return say.Exit.NO if wrong else say.Exit.FINE


def _rows(preview: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What would be done, then what would be left as it is, and why."""
    for verb in _DONE:
        yield from ((verb, str(key), "") for key in preview.get(verb, ()))
    for verb in _LEFT:
        for it in preview.get(verb, ()):
            yield verb, str(it["key"]), str(it["note"])
