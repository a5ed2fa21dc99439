"""A change that a watch sees leads to asks, decided by comparing the object before and after. Pure.

The generation of an Application cannot be used: Argo CD's definition has no status subresource, so
it grows with every status write too. The parts that matter are compared instead, so our own writes,
which set the status and remove the refresh annotation and `.operation`, lead to no ask.

Of live objects changed content is compared and changed health assessed. Only an application's own
objects count: not one with a copied tracking annotation, nor one that an operator makes. A vanished
object of an application that is being deleted continues the deletion, and so does a hook that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from agent.kube.live_change import LiveChange
from bus.events import AppDeleted, DeleteApp, Event, RefreshApp, StepOperation
from bus.events.event import Ask
from bus.events.requests import AssessApp, CompareApp
from bus.identity import AppKey
from bus.status import ConditionType, OperationPhase
from handlers.application.application import (
    HYDRATE_ANNOTATION,
    SKIP_RECONCILE,
    Application,
    AppProject,
)
from handlers.application.artifact_signers import ARTIFACT_SIGNERS
from handlers.application.decryption_keys import DECRYPTION_KEYS
from handlers.application.deletion_approval import approval
from handlers.application.ignore_rules import NO_RULES, IgnoreRules
from handlers.application.source_hydrator import hydrations
from handlers.application.source_integrity import ALLOWED_SIGNERS
from handlers.application.status import of_type
from handlers.comparison.ignored_fields import IgnoredFields, pointed
from handlers.comparison.object_diff import same_after_dry_run
from handlers.control_plane.governance import GOVERNED
from handlers.hydrate.plain_secrets import PLAIN_SECRETS
from handlers.manifest.hooks import is_hook
from handlers.ports import LiveObject
from handlers.render.render_outcome import asked_refresh

HARD = "hard"
_ACTED_ON = (SKIP_RECONCILE, GOVERNED)
"""Annotations that change what may be synced; other annotations lead to no refresh."""
_OF_PROJECT = (ALLOWED_SIGNERS, ARTIFACT_SIGNERS, DECRYPTION_KEYS, PLAIN_SECRETS)
"""Annotations of a project that change what is permitted, demanded or decrypted."""
AppOf = Callable[[str], AppKey | None]
"""Tracking identity -> application; None for one that does not exist."""


def asks_for_app(before: Application | None, after: Application | None) -> tuple[Event, ...]:
    """Decide the asks; None means absent. A new Application (all, at the start) is refreshed."""
    if after is None:
        return ()
    if after.deleting:
        return (DeleteApp(app=after.key),) if _deletion_changed(before, after) else ()
    return (*_refresh(before, after), *_hydrate(before, after), *_step(before, after))


def asks_for_project(
    before: AppProject | None,
    after: AppProject | None,
    apps: Iterable[Application],
    *,
    is_global: bool = False,
) -> tuple[Ask, ...]:
    """Ask the Applications of a project that changed: it may permit now what it denied.

    One that is being deleted takes the next step of its deletion instead of a refresh. The rules of
    a project that is global concern the Applications of others.
    """
    project = after or before
    if project is None or (before and after and _is_unchanged(before, after)):
        return ()
    name = project.metadata.name
    mine = [app for app in apps if is_global or (app.spec.project or "default") == name]
    looks = ((DeleteApp if app.deleting else RefreshApp)(app=app.key) for app in mine)
    return (*looks, *hydrations(mine))


def deletion_fact(before: Application | None, after: Application | None) -> tuple[AppDeleted, ...]:
    """Publish AppDeleted for an Application without our finalizer; else the handler does."""
    if before is None or before.deleting or after is not None:
        return ()
    return (AppDeleted(app=before.key, project=before.spec.project),)


def _deletion_changed(before: Application | None, after: Application) -> bool:
    if before is None or not before.deleting:
        return True
    changed = before.metadata.finalizers != after.metadata.finalizers
    return changed or _is_approved(before, after) or before.is_skipped != after.is_skipped


def _refresh(before: Application | None, after: Application) -> Iterator[Event]:
    level = asked_refresh(after)
    asked = bool(level) and (before is None or asked_refresh(before) != level)
    if before is None or not _is_unchanged(before, after) or asked:
        yield RefreshApp(app=after.key, hard=asked and level == HARD)


def _hydrate(before: Application | None, after: Application) -> Iterator[Event]:
    level = after.metadata.annotations.get(HYDRATE_ANNOTATION, "")
    asked = level and (
        before is None or before.metadata.annotations.get(HYDRATE_ANNOTATION) != level
    )
    if before is None or asked or not _is_unchanged(before, after):
        yield from hydrations([after])


def _is_unchanged(before: Application | AppProject, after: Application | AppProject) -> bool:
    return _acted_on(before) == _acted_on(after)


def _acted_on(one: Application | AppProject) -> tuple[object, ...]:
    annotations = (one.metadata.annotations.get(name) for name in (*_ACTED_ON, *_OF_PROJECT))
    # The labels of a project choose which projects are global for it.
    labels = one.metadata.labels if isinstance(one, AppProject) else {}
    return (one.spec, one.unknown_fields, labels, *annotations)


def _step(before: Application | None, after: Application) -> Iterator[Event]:
    asked = after.operation is not None and (before is None or before.operation != after.operation)
    terminated = _phase(after) == OperationPhase.TERMINATING != _phase(before)
    resumed = before is None and _phase(after) == OperationPhase.RUNNING
    running = _phase(after) == OperationPhase.RUNNING
    approved = running and before is not None and _is_approved(before, after)
    if asked or terminated or resumed or approved:
        yield StepOperation(app=after.key)


def _is_approved(before: Application, after: Application) -> bool:
    """Whether a person has approved, or approved again, the deletions that wait for it."""
    return approval(after) not in ("", approval(before))


def _phase(app: Application | None) -> str:
    state = app.status.operation_state if app else None
    return state.phase if state else ""


def asks_for_change(
    change: LiveChange,
    app_of: AppOf,
    is_deleting: Callable[[AppKey], bool],
    ignored: IgnoreRules = NO_RULES,
) -> tuple[Ask, ...]:
    """Decide one ask per touched application: two where an object moved between applications.

    `ignored`: an object that changed only where their pointers lead is not compared. Expressions
    cannot be evaluated here, so what they name counts as a change; the comparison then ignores it.
    """
    before, after = _tracking_app(change.before, app_of), _tracking_app(change.after, app_of)
    if before == after:
        return tuple(_asks(before, change, is_deleting, ignored))
    old = _asks(before, LiveChange(before=change.before, after=None), is_deleting)
    new = _asks(after, LiveChange(before=None, after=change.after), is_deleting)
    return (*old, *new)


def asks_of_orphans(change: LiveChange, watched: Iterable[Application]) -> tuple[CompareApp, ...]:
    """Ask the Applications of a namespace where an object came, went, or changed its application.

    `watched`: those whose projects warn of orphaned resources; read only where there is a reason.
    """
    before, after = change.before, change.after
    here = after or before
    if here is None or here.owners or not here.key.namespace:
        return ()
    if before is not None and after is not None and before.application == after.application:
        return ()
    space = here.key.namespace
    mine = (app for app in watched if app.spec.destination.namespace == space and not app.deleting)
    return tuple(CompareApp(app=app.key) for app in mine)


def is_sharing(app: Application) -> bool:
    """Whether the Application has an object in common with another one."""
    return bool(of_type(app.status.conditions, ConditionType.SHARED_RESOURCE_WARNING))


def is_released(change: LiveChange) -> bool:
    """Whether an application has let go of an object: it is gone, or another one's now."""
    before, after = change.before, change.after
    if before is None or not before.application:
        return False
    return after is None or after.application != before.application


def _tracking_app(live: LiveObject | None, app_of: AppOf) -> AppKey | None:
    identity = live.application if live is not None else ""
    return app_of(identity) if identity else None


def _asks(
    app: AppKey | None,
    change: LiveChange,
    is_deleting: Callable[[AppKey], bool],
    ignored: IgnoreRules = NO_RULES,
) -> Iterator[Ask]:
    if app is None:
        return
    if is_deleting(app):
        if change.after is None or _is_hook_that_goes_on(change):
            yield DeleteApp(app=app)
    elif _content_changed(change) and not _only_ignored_changed(change, ignored):
        yield CompareApp(app=app)
    elif _health_changed(change):
        yield AssessApp(app=app)


def _is_hook_that_goes_on(change: LiveChange) -> bool:
    """Tell a hook of another health: a deletion waits for the end of its hooks."""
    after = change.after
    if after is None or not after.body or not _health_changed(change):
        return False
    return is_hook(after.manifest)


def _content_changed(change: LiveChange) -> bool:
    """Compare content; an object that came, went, or was recreated has changed."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return (before.fingerprint, before.uid) != (after.fingerprint, after.uid)


def _only_ignored_changed(change: LiveChange, ignored: IgnoreRules) -> bool:
    before, after = change.before, change.after
    if not ignored or before is None or after is None or before.uid != after.uid:
        return False
    rules = ignored.of(after.key)
    if rules is None or not rules.pointers or not before.body or not after.body:
        return False
    left, right = before.manifest, after.manifest
    fields = IgnoredFields(desired=pointed(left, rules), live=pointed(right, rules))
    return same_after_dry_run(*fields.without(left, right))


def _health_changed(change: LiveChange) -> bool:
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    return _health(before) != _health(after)


def _health(live: LiveObject) -> tuple[object, ...]:
    return live.health, live.health_message, live.deleting
