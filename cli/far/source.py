"""Whether `gitops events` reads from the service, and the bridge to where that is done.

Imports little: who reads from the bus shall not pay for an HTTP client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from cli.far import contexts
from cli.far.errors import FarError


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as they were typed."""

    app: str
    since: str
    types: str
    last: str


def logged_in() -> bool:
    """A file that cannot be read counts: then that is told, and no other source is taken."""
    try:
        return bool(contexts.read().current)
    except FarError:
        return True


def tell(context: str, asked: Asked, *, follow: bool, as_json: bool) -> NoReturn:
    from cli.far import calling  # noqa: PLC0415  an HTTP client, for this only
    from cli.far.audit import ago  # noqa: PLC0415  likewise
    from cli.far.client import Far  # noqa: PLC0415  likewise
    from cli.far.events import Telling, Wanted  # noqa: PLC0415  likewise
    from cli.say import Exit  # noqa: PLC0415  likewise

    async def work(far: Far) -> Exit:
        wanted = Wanted(
            app=asked.app,
            types=frozenset(filter(None, asked.types.split(","))),
            since=ago(asked.since),
            last=asked.last,
            follow=follow or bool(asked.last),
            as_json=as_json,
        )
        return await Telling(far, wanted).run()

    calling.call(context, work, interrupted=Exit.FINE if follow else Exit.INTERRUPTED)
