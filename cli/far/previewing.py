"""What a sync or rollback would do, asked of the agent now: nothing is ordered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli import say
from cli.far import show
from cli.far.asking import asked
from cli.far.client import Far

_VERBS = ("create", "change", "prune")


async def told(
    far: Far, path: str, body: Mapping[str, Any], seconds: float, *, as_json: bool
) -> say.Exit:
    """Exit code 1 if it would do something, as a difference has, or would be refused."""
    preview = await asked(far, path, seconds, body)
    objects = [(verb, str(key)) for verb in _VERBS for key in preview.get(verb, ())]
    if as_json:
        say.line(preview)
    else:
        show.table(("Would", "Object"), objects, "It would change nothing.")
    refused = preview.get("refuse", ())
    for one in refused:
        say.complain(f"it would fail: {one['key']}: {one['note']}")
    return say.Exit.NO if objects or refused else say.Exit.FINE
