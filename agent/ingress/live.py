"""What a change of the cluster asks for: content -> compare, health -> assess.

Pure. Only an application's own objects speak: an annotation copied to another object does not, nor
does what an operator makes. An application that is being deleted waits for its objects to vanish,
so it is asked to go on deleting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.kube.index import LiveChange, tracking_identity
from bus.events.asks import AssessApp, CompareApp, DeleteApp
from bus.events.event import Ask
from bus.identity import AppKey
from handlers.ports import LiveObject

AppOf = Callable[[str], AppKey | None]
"""Tracking identity -> application; None for one that does not exist."""


def asks_for(
    change: LiveChange, app_of: AppOf, is_deleting: Callable[[AppKey], bool]
) -> tuple[Ask, ...]:
    """One ask per application that is touched: two where an object moved from one to the other."""
    before, after = _app(change.before, app_of), _app(change.after, app_of)
    if before == after:
        return tuple(_asks(before, change, is_deleting))
    lost = _asks(before, LiveChange(before=change.before, after=None), is_deleting)
    won = _asks(after, LiveChange(before=None, after=change.after), is_deleting)
    return (*lost, *won)


def _app(live: LiveObject | None, app_of: AppOf) -> AppKey | None:
    identity = tracking_identity(live) if live is not None else ""
    return app_of(identity) if identity else None


def _asks(
    app: AppKey | None, change: LiveChange, is_deleting: Callable[[AppKey], bool]
) -> Iterator[Ask]:
    if app is None:
        return
    if is_deleting(app):
        if change.after is None:
            yield DeleteApp(app=app)
    elif _content_changed(change):
        yield CompareApp(app=app)
    elif _health_changed(change):
        yield AssessApp(app=app)


def _content_changed(change: LiveChange) -> bool:
    """Also where it came or went, or is another object of the same name now."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return (before.fingerprint, before.uid) != (after.fingerprint, after.uid)


def _health_changed(change: LiveChange) -> bool:
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return _health(before) != _health(after)


def _health(live: LiveObject) -> tuple[object, ...]:
    return live.health, live.health_message, live.deleting
