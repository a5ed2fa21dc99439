"""What an Application says and this version does not act on: reported, never silently ignored.

One value for each field, with the consequence in words. Where ignoring the field could do harm
(something would be overwritten, or done at a forbidden time, or left out that must come first), the
value is `harmful`: automated syncs are held until a person removes the field or syncs by hand.
Fields that not even a person may pass over are not here: validate refuses those. What one line of
`docs/compatibility.md` says of a field is tested against this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from bus.status import ConditionType
from handlers.application import sync_windows
from handlers.application.application import Application, AppProject
from handlers.application.options import sync_options_of_app
from handlers.application.policy import auto_sync
from handlers.application.spec import Source
from handlers.application.status import Condition
from handlers.manifest.access import Manifest, annotation_words, kind, name
from handlers.manifest.hooks import HookPhase, hook_of
from handlers.manifest.options import (
    SYNC_OPTIONS,
    Consent,
    SyncOptions,
    is_object_option,
    parse_sync_options,
)

SKIP_RECONCILE = "argocd.argoproj.io/skip-reconcile"
MIGRATION_MANAGER = "argocd.argoproj.io/client-side-apply-migration-manager"
NOTIFICATIONS = ("notifications.argoproj.io/", "recipients.argocd-notifications.argoproj.io")
_DELETION_HOOKS = frozenset({HookPhase.PRE_DELETE, HookPhase.POST_DELETE})
_NAMED = 5


class Unsupported(msgspec.Struct, frozen=True, kw_only=True):
    """A field or an option that is not acted on, and what follows."""

    field: str
    consequence: str
    harmful: bool = False
    """Automated syncs are held."""

    @property
    def message(self) -> str:
        said = f"{self.field} is not acted on by this version: {self.consequence}"
        held = "automated sync is held until it is removed; sync by hand where that is acceptable"
        return f"{said}; {held}" if self.harmful else said


def unsupported(
    app: Application, project: AppProject | None, manifests: Iterable[Manifest] = ()
) -> tuple[Unsupported, ...]:
    """`manifests`: all that Git has, hooks too."""
    written = tuple(manifests)
    return (
        *_of_app(app),
        *_of_options(app),
        *_of_project(app, project),
        *_of_hooks(written),
        *_of_object_options(written),
    )


def conditions_of(app: Application, found: Iterable[Unsupported]) -> tuple[Condition, ...]:
    """Conditions without a time; nothing is held where syncs are started by people only."""
    automated = auto_sync(app.spec) is not None
    return tuple(
        Condition(
            type=(
                ConditionType.AUTO_SYNC_HELD_WARNING
                if automated and one.harmful
                else ConditionType.UNSUPPORTED_FIELD_WARNING
            ),
            message=one.message,
        )
        for one in found
    )


def unsupported_options(written: Iterable[str]) -> Iterator[Unsupported]:
    """Those of `written` that nobody acts on, as options."""
    options = parse_sync_options(written)
    for option, is_set, consequence in _OPTIONS:
        if is_set(options):
            yield Unsupported(field=option, consequence=consequence)
    for word in options.unknown:
        yield Unsupported(field=word, consequence="it is not known")


def _of_app(app: Application) -> Iterator[Unsupported]:
    spec, notes = app.spec, app.metadata.annotations
    if spec.ignore_differences:
        yield _ignore_differences(app)
    if spec.sync_policy and spec.sync_policy.managed_namespace_metadata:
        yield Unsupported(
            field="spec.syncPolicy.managedNamespaceMetadata",
            consequence="the namespace gets no labels and annotations, also none for its security",
            harmful=sync_options_of_app(app).create_namespace,
        )
    if notes.get(SKIP_RECONCILE) == "true":
        yield Unsupported(
            field=f"annotation {SKIP_RECONCILE}",
            consequence="the application is still compared, but not synced",
        )
    if notes.get(MIGRATION_MANAGER):
        yield Unsupported(
            field=f"annotation {MIGRATION_MANAGER}",
            consequence="what this manager wrote stays when Git drops it; remove it by hand",
        )
    if any(note.startswith(NOTIFICATIONS) for note in notes):
        yield Unsupported(
            field="annotation notifications.argoproj.io", consequence="nobody is notified"
        )
    if app.source is not None:
        yield from _of_source(app.source)
    yield from _of_generator(app)


def _ignore_differences(app: Application) -> Unsupported:
    """Argo CD's sync overwrites ignored fields too, unless it is told to respect them."""
    policy = auto_sync(app.spec)
    respected = sync_options_of_app(app).respect_ignore_differences
    if respected:
        consequence = "a sync overwrites the fields that RespectIgnoreDifferences=true protects"
    elif policy is not None and policy.self_heal:
        consequence = "selfHeal would set back the fields that it names again and again"
    else:
        consequence = "the fields it names still count as differences"
    return Unsupported(
        field="spec.ignoreDifferences",
        consequence=consequence,
        harmful=respected or (policy is not None and policy.self_heal),
    )


def _of_generator(app: Application) -> Iterator[Unsupported]:
    for owner in app.metadata.owner_references:
        if owner.kind == "ApplicationSet":
            yield Unsupported(
                field=f"ApplicationSet {owner.name}, which made this application,",
                consequence="its changes do not reach this application",
            )


def _of_source(source: Source) -> Iterator[Unsupported]:
    helm, kustomize = source.helm, source.kustomize
    found = (
        ("ref", bool(source.ref), "no other source can use its files"),
        (
            "helm.version",
            bool(helm and helm.version not in ("", "v3")),
            "the chart is rendered as by Helm 3",
        ),
        (
            "helm.passCredentials",
            bool(helm and helm.pass_credentials),
            "nothing is fetched while a chart is rendered",
        ),
        (
            "kustomize.version",
            bool(kustomize and kustomize.version),
            "the built-in version is used",
        ),
        (
            "kustomize.kubeVersion and apiVersions",
            bool(kustomize and (kustomize.kube_version or kustomize.api_versions)),
            "charts are not inflated",
        ),
    )
    for field, is_set, consequence in found:
        if is_set:
            yield Unsupported(field=f"spec.source.{field}", consequence=consequence)


_OPTIONS: tuple[tuple[str, Callable[[SyncOptions], bool], str], ...] = (
    ("Force=true", lambda o: o.force, "an immutable field fails the object's sync"),
    (
        "ServerSideApply=false",
        lambda o: o.server_side_apply is False,
        "every object is applied by the server",
    ),
    ("Prune=confirm", lambda o: o.prune is Consent.CONFIRM, "such objects are never pruned"),
    ("Delete=confirm", lambda o: o.delete is Consent.CONFIRM, "such objects are never deleted"),
    (
        "FailOnSharedResource=true",
        lambda o: o.fail_on_shared_resource,
        "an object of two applications is applied by both",
    ),
    (
        "RespectIgnoreDifferences=true",
        lambda o: o.respect_ignore_differences,
        "every field that Git has is applied",
    ),
)
_HARMFUL_OPTIONS = frozenset({"FailOnSharedResource=true"})


def _of_options(app: Application) -> Iterator[Unsupported]:
    written = app.spec.sync_policy.sync_options if app.spec.sync_policy else ()
    for one in unsupported_options(written):
        yield Unsupported(
            field=f"sync option {one.field}",
            consequence=one.consequence,
            harmful=one.field in _HARMFUL_OPTIONS,
        )


def _of_project(app: Application, project: AppProject | None) -> Iterator[Unsupported]:
    if project is None:
        return
    about = f"of AppProject {project.metadata.name}"
    if sync_windows.concerning(app, project):
        yield Unsupported(
            field=f"spec.syncWindows {about}",
            consequence="a sync could start while a window forbids it",
            harmful=True,
        )
    if project.spec.orphaned_resources is not None:
        yield Unsupported(
            field=f"spec.orphanedResources {about}",
            consequence="objects of no application are not looked for",
        )
    if any(note.startswith(NOTIFICATIONS) for note in project.metadata.annotations):
        yield Unsupported(
            field=f"annotation notifications.argoproj.io {about}", consequence="nobody is notified"
        )


def _of_hooks(manifests: Iterable[Manifest]) -> Iterator[Unsupported]:
    """An object that is set aside (`Skip`, a test of Helm) is rightly not applied."""
    syncing: list[str] = []
    deleting: list[str] = []
    for one in manifests:
        hook = hook_of(one)
        if hook is None or not hook.phases:
            continue
        (deleting if _DELETION_HOOKS.issuperset(hook.phases) else syncing).append(_title(one))
    if syncing:
        yield Unsupported(
            field=f"the hook annotation of {_listed(syncing)}",
            consequence="these objects are not applied, so what they prepare or check is left out",
            harmful=True,
        )
    if deleting:
        yield Unsupported(
            field=f"the hook annotation of {_listed(deleting)}",
            consequence="these objects are not applied when the application is deleted",
        )


def _of_object_options(manifests: Iterable[Manifest]) -> Iterator[Unsupported]:
    bearers: dict[Unsupported, list[str]] = {}
    for one in manifests:
        for found in _object_options(one):
            bearers.setdefault(found, []).append(_title(one))
    for found, titles in bearers.items():
        yield Unsupported(
            field=f"sync option {found.field} of {_listed(titles)}", consequence=found.consequence
        )


def _object_options(manifest: Manifest) -> Iterator[Unsupported]:
    words = annotation_words(manifest, SYNC_OPTIONS)
    yield from unsupported_options(word for word in words if is_object_option(word))
    for word in words:
        if not is_object_option(word):
            yield Unsupported(field=word, consequence="it has no meaning for one object")


def _title(manifest: Manifest) -> str:
    return f"{kind(manifest)} {name(manifest)}".strip()


def _listed(titles: Iterable[str]) -> str:
    known = sorted(titles)
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return ", ".join(known[:_NAMED]) + more
