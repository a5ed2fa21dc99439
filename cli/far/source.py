"""Whether `gitops events` reads from the service, and the bridge to where that is done.

Imports little: who reads from the bus shall not pay for an HTTP client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from cli.far import contexts
from cli.far.errors import FarError
from cli.say import Exit


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as they were typed."""

    app: str
    since: str
    types: str
    last: str
    follow: bool
    as_json: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(filter(None, self.types.split(",")))

    @property
    def interrupted(self) -> Exit:
        """To interrupt is how one ends to follow."""
        return Exit.FINE if self.follow else Exit.INTERRUPTED


def logged_in() -> bool:
    """A file that cannot be read counts: then that is told, and no other source is taken."""
    try:
        return bool(contexts.read().current)
    except FarError:
        return True


def tell(context: str, asked: Asked) -> NoReturn:
    from cli.far import calling  # noqa: PLC0415  an HTTP client, for this only
    from cli.far.audit import ago  # noqa: PLC0415  likewise
    from cli.far.client import Far  # noqa: PLC0415  likewise
    from cli.far.events import Telling, Wanted  # noqa: PLC0415  likewise

    async def work(far: Far) -> Exit:
        wanted = Wanted(
            app=asked.app,
            types=frozenset(asked.kinds),
            since=ago(asked.since),
            last=asked.last,
            follow=asked.follow or bool(asked.last),
            as_json=asked.as_json,
        )
        return await Telling(far, wanted).run()

    calling.call(context, work, interrupted=asked.interrupted)
