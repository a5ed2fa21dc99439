"""What an Application says and this version does not act on: reported, never silently ignored.

One condition a field, with the consequence in words, so that a person can judge whether it matters.
Fields whose neglect would be dangerous are not here: validate refuses those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bus.status import ConditionType
from handlers.application.application import Application, AppProject
from handlers.application.spec import Source
from handlers.application.status import Condition
from handlers.manifest.access import Manifest, kind, name
from handlers.manifest.hooks import is_hook
from handlers.manifest.options import Consent, SyncOptions, parse_sync_options

SKIP_RECONCILE = "argocd.argoproj.io/skip-reconcile"
_NAMED = 5

Finding = tuple[str, str]
"""A field or an option, and what follows from its neglect."""


def unsupported(
    app: Application, project: AppProject | None, manifests: Iterable[Manifest] = ()
) -> tuple[Condition, ...]:
    """UnsupportedFieldWarning conditions without a time."""
    said = (*_of_app(app), *_of_options(app), *_of_project(project), *_of_manifests(manifests))
    type_ = ConditionType.UNSUPPORTED_FIELD_WARNING
    return tuple(
        Condition(type=type_, message=f"{field} is not acted on by this version: {consequence}")
        for field, consequence in said
    )


def unsupported_options(written: Iterable[str]) -> Iterator[Finding]:
    """Those of `written` that nobody acts on, as options."""
    options = parse_sync_options(written)
    for option, is_set, consequence in _OPTIONS:
        if is_set(options):
            yield option, consequence
    for word in options.unknown:
        yield word, "it is not known"


def _of_app(app: Application) -> Iterator[Finding]:
    spec = app.spec
    if spec.ignore_differences:
        yield "spec.ignoreDifferences", "the fields it names still count as differences"
    if spec.sync_policy and spec.sync_policy.managed_namespace_metadata:
        yield (
            "spec.syncPolicy.managedNamespaceMetadata",
            "the namespace gets no labels and annotations",
        )
    if app.metadata.annotations.get(SKIP_RECONCILE) == "true":
        yield f"annotation {SKIP_RECONCILE}", "the application is still compared, but not synced"
    if app.source is not None:
        yield from _of_source(app.source)


def _of_source(source: Source) -> Iterator[Finding]:
    helm, kustomize = source.helm, source.kustomize
    if source.ref:
        yield "spec.source.ref", "no other source can use its files"
    if helm and helm.version not in ("", "v3"):
        yield "spec.source.helm.version", "the chart is rendered as by Helm 3"
    if helm and helm.pass_credentials:
        yield "spec.source.helm.passCredentials", "nothing is fetched while a chart is rendered"
    if kustomize and kustomize.version:
        yield "spec.source.kustomize.version", "the built-in version is used"
    if kustomize and (kustomize.kube_version or kustomize.api_versions):
        yield "spec.source.kustomize.kubeVersion and apiVersions", "charts are not inflated"


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


def _of_options(app: Application) -> Iterator[Finding]:
    written = app.spec.sync_policy.sync_options if app.spec.sync_policy else ()
    for option, consequence in unsupported_options(written):
        yield f"sync option {option}", consequence


def _of_project(project: AppProject | None) -> Iterator[Finding]:
    if project is None:
        return
    about = f"of AppProject {project.metadata.name}"
    if project.spec.sync_windows:
        yield f"spec.syncWindows {about}", "syncs are allowed at any time"
    if project.spec.orphaned_resources is not None:
        yield f"spec.orphanedResources {about}", "objects of no application are not looked for"


def _of_manifests(manifests: Iterable[Manifest]) -> Iterator[Finding]:
    hooks = sorted(f"{kind(one)} {name(one)}".strip() for one in manifests if is_hook(one))
    if hooks:
        more = f" and {len(hooks) - _NAMED} more" if len(hooks) > _NAMED else ""
        named = ", ".join(hooks[:_NAMED]) + more
        yield f"the hook annotation of {named}", "these objects are not applied"
