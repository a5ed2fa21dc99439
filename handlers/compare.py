"""The handler of ManifestsRendered and CompareApp: publishes Compared, and writes nothing.

The fact tells which fields of an object differ and who wrote last, no values. It stays below 8 KiB,
so paths are cut, and objects that do not fit are left out; their names stand beside the details in
any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bus.events import CompareApp, Compared, DeleteApp, Event, ManifestsRendered, RefreshApp
from bus.events.facts import DriftedObject
from bus.route import Retry
from handlers.application.application import Application
from handlers.comparison.comparison import ComparedPair, Comparison, PairState
from handlers.comparison.reader import ComparisonReader
from handlers.ports import (
    Apps,
    DestinationUnavailableError,
    DestinationUnknownError,
    UnavailableError,
)

NAMED = 10
_FIELDS = 5
_PATH = 120
_BYTES = 3072


def details(pairs: Iterable[ComparedPair]) -> tuple[DriftedObject, ...]:
    """Describe the first ten objects, as many as fit."""
    return tuple(_fitting(_detail(pair) for pair, _ in zip(pairs, range(NAMED), strict=False)))


def _detail(pair: ComparedPair) -> DriftedObject:
    paths = (one.path[:_PATH] for one in pair.resource.differences[:_FIELDS] if one.path)
    writer = pair.live.written_by if pair.live is not None else ""
    return DriftedObject(object=str(pair.key), fields=tuple(paths), manager=writer)


def _fitting(found: Iterable[DriftedObject]) -> Iterator[DriftedObject]:
    left = _BYTES
    for one in found:
        left -= len(msgspec.json.encode(one))
        if left < 0:
            return
        yield one


_AWAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareHandler:
    apps: Apps
    comparisons: ComparisonReader

    async def __call__(self, event: ManifestsRendered | CompareApp) -> Sequence[Event]:
        app = self.apps.get(event.app)
        if app is None or app.is_skipped:
            return ()
        if app.deleting:
            # Its deletion may wait for the manifests of its hooks.
            rendered = isinstance(event, ManifestsRendered)
            return (DeleteApp(app=app.key),) if rendered else ()
        try:
            comparison = await self.comparisons.read(app)
        except (DestinationUnavailableError, DestinationUnknownError):
            return (RefreshApp(app=app.key),)  # which writes the condition, and waits
        except UnavailableError as error:
            raise Retry(str(error), after=_AWAY) from error
        if comparison is None:
            return (RefreshApp(app=app.key),)
        return (_fact(app, comparison),)


def _fact(app: Application, comparison: Comparison) -> Compared:
    drifted = comparison.of(PairState.CHANGED, PairState.MISSING, PairState.EXTRA)
    return Compared(
        app=app.key,
        project=app.spec.project,
        status=comparison.status,
        revision=comparison.record.revision,
        revisions=comparison.record.revisions.in_fact,
        digest=comparison.record.digest,
        changed=len(comparison.of(PairState.CHANGED)),
        missing=len(comparison.of(PairState.MISSING)),
        extra=len(comparison.of(PairState.EXTRA)),
        drifted=tuple(str(one.key) for one in drifted[:NAMED]),
        details=details(drifted),
    )
