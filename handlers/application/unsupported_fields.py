"""Fields of Applications, AppProjects and their manifests that this version does not act on. Pure.

`unsupported` joins them with the sync options and with the annotations of the rendered objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handlers.application.application import Application, AppProject
from handlers.application.policy import sync_options_of_app
from handlers.application.source_address import is_chart, is_versioned
from handlers.application.source_refs import MAX_SOURCES
from handlers.application.spec import Source
from handlers.application.titles import listed_titles, title
from handlers.application.unknown_annotations import unknown_annotations
from handlers.application.unsupported import Unsupported, options_of_policy, unsupported_options
from handlers.manifest.access import Manifest, annotation_words
from handlers.manifest.options import SYNC_OPTIONS, is_object_option


def unsupported_object_options(manifests: Iterable[Manifest]) -> Iterator[Unsupported]:
    bearers: dict[Unsupported, list[str]] = {}
    for one in manifests:
        for found in _object_options(one):
            bearers.setdefault(found, []).append(title(one))
    for found, titles in bearers.items():
        yield Unsupported(
            field=f"sync option {found.field} of {listed_titles(titles)}",
            consequence=found.consequence,
        )


def _object_options(manifest: Manifest) -> Iterator[Unsupported]:
    words = annotation_words(manifest, SYNC_OPTIONS)
    yield from unsupported_options(word for word in words if is_object_option(word))
    for word in words:
        if not is_object_option(word):
            yield Unsupported(field=word, consequence="it has no meaning for one object")


_DECISIVE = ("spec.source", "spec.destination", "spec.syncPolicy", "spec.ignoreDifferences")
"""Where an unknown field may decide what is deployed, where, when or over what."""
NOTIFICATIONS = ("notifications.argoproj.io/", "recipients.argocd-notifications.argoproj.io")


def unsupported(
    app: Application, project: AppProject | None, manifests: Iterable[Manifest] = ()
) -> tuple[Unsupported, ...]:
    """List every unsupported field; `manifests` are the rendered objects that may have some."""
    written = tuple(manifests)
    return (
        *_of_app(app),
        *options_of_policy(app),
        *_of_project(project),
        *_unknown(app, project),
        *unsupported_object_options(written),
        *unknown_annotations(app, written),
    )


def _unknown(app: Application, project: AppProject | None) -> Iterator[Unsupported]:
    """An unknown field of a project may restrict what its Applications may do, so all are held."""
    for it in app.unknown_fields:
        harmful = it.path.startswith(_DECISIVE)
        consequence = f"it knows no such field{it.hint}"
        yield Unsupported(field=it.path, consequence=consequence, harmful=harmful)
    for it in project.unknown_fields if project else ():
        field = f"{it.path} of AppProject {app.spec.project}"
        consequence = f"it knows no such field{it.hint}"
        yield Unsupported(field=field, consequence=consequence, harmful=True)


def _of_app(app: Application) -> Iterator[Unsupported]:
    spec, notes = app.spec, app.metadata.annotations
    managed = spec.sync_policy.managed_namespace_metadata if spec.sync_policy else None
    if managed is not None and not sync_options_of_app(app).create_namespace:
        yield Unsupported(
            field="spec.syncPolicy.managedNamespaceMetadata",
            consequence="it has an effect only together with the sync option CreateNamespace=true",
        )
    if any(note.startswith(NOTIFICATIONS) for note in notes):
        yield Unsupported(
            field="annotation notifications.argoproj.io", consequence="nobody is notified"
        )
    dry = spec.source_hydrator.dry_source if spec.source_hydrator else None
    if dry is not None:
        yield from unsupported_of_source(dry, "spec.sourceHydrator.drySource")
    elif spec.sources:
        for place, source in enumerate(spec.sources[:MAX_SOURCES]):
            yield from unsupported_of_source(source, f"spec.sources[{place}]")
    elif spec.source is not None:
        yield from unsupported_of_source(spec.source, "spec.source")
        if spec.source.ref:
            yield Unsupported(field="spec.source.ref", consequence="refs are for spec.sources")
    yield from _of_generator(app)


def _of_generator(app: Application) -> Iterator[Unsupported]:
    for owner in app.metadata.owner_references:
        if owner.kind == "ApplicationSet":
            yield Unsupported(
                field=f"ApplicationSet {owner.name}, which made this application,",
                consequence="its changes do not reach this application",
            )


def unsupported_of_source(source: Source, place: str) -> Iterator[Unsupported]:
    """List the fields of a source; `place` is the path of the source, or the file it is in."""
    helm, kustomize = source.helm, source.kustomize
    found = (
        (
            "helm.version",
            bool(helm and helm.version not in ("", "v3")),
            "the chart is rendered as by Helm 3",
        ),
        (
            "helm.passCredentials",
            bool(helm and helm.pass_credentials) and not is_chart(source),
            "the charts that it depends on are read with logins that stay on their servers",
        ),
        ("path", bool(is_chart(source) and source.path), "a chart is rendered from its root"),
        (
            "chart",
            bool(source.chart) and not is_chart(source),
            "a URL oci:// names the whole artifact",
        ),
        (
            "tagPrefix",
            bool(source.tag_prefix) and is_versioned(source),
            "the versions of charts and artifacts are compared as they are",
        ),
        (
            "kustomize.version",
            bool(kustomize and kustomize.version),
            "the built-in version is used",
        ),
    )
    for field, is_set, consequence in found:
        if is_set:
            yield Unsupported(field=f"{place}.{field}", consequence=consequence)


def _of_project(project: AppProject | None) -> Iterator[Unsupported]:
    if project is None:
        return
    about = f"of AppProject {project.metadata.name}"
    for missing in project.missing_global_projects:
        yield Unsupported(
            field=f"globalProjects of argocd-cm: {missing}",
            consequence=(
                f"there is no AppProject of this name, so what it denies the Applications of "
                f"{project.metadata.name} is not known"
            ),
            harmful=True,
        )
    if any(note.startswith(NOTIFICATIONS) for note in project.metadata.annotations):
        yield Unsupported(
            field=f"annotation notifications.argoproj.io {about}", consequence="nobody is notified"
        )
