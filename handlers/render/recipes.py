"""From what an Application says to a recipe: all that a render depends on besides files.

Only a chart sees the destination's version and API versions; plain manifests and kustomizations do
not, so that a new CustomResourceDefinition in the cluster leaves their renders valid. The build
environment is substituted where Argo CD does it: parameters and file names of charts, images and
labels of kustomizations, their annotations when asked to. Not in inline values.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from bus.identity import Revision
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource, Source
from handlers.ports import Tree
from handlers.render import detect
from handlers.render.environment import Environment, build_environment, substitute
from handlers.render.recipe import Recipe, RenderError, SourceType

Versions = tuple[str, ...]
"""`group/version` and `group/version/Kind` of a destination."""


def recipe_at(
    app: Application, revision: Revision, tree: Tree, kube_version: str, api_versions: Versions
) -> Recipe:
    """How the agent and every offline tool read a source at a revision; raises RenderError."""
    source = app.source
    if source is None:
        raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
    folder = detect.folder_of(source, tree)
    if override := detect.override_file(folder, app.metadata.name, tree):
        raise _override_unsupported(override)
    environment = build_environment(app, revision, kube_version, api_versions)
    surroundings = Surroundings(environment, kube_version, api_versions)
    return recipe_of(detect.detect(source, folder, tree), app, folder, surroundings)


class Surroundings(msgspec.Struct, frozen=True):
    """What a recipe takes from outside of the source."""

    environment: Environment
    kube_version: str
    api_versions: Versions


def recipe_of(
    type_: SourceType, app: Application, folder: str, surroundings: Surroundings
) -> Recipe:
    source = app.source or Source(repo_url="")
    environment = surroundings.environment
    plain = Recipe(
        type=type_,
        path=folder,
        app_name=app.metadata.name,
        namespace=app.spec.destination.namespace,
    )
    match type_:
        case SourceType.DIRECTORY:
            return replace(plain, directory=source.directory or DirectorySource())
        case SourceType.KUSTOMIZE:
            return replace(plain, kustomize=_kustomize(source.kustomize, environment))
        case SourceType.HELM:
            helm = _helm(source.helm, environment)
            return replace(
                plain,
                helm=helm,
                kube_version=helm.kube_version or surroundings.kube_version,
                api_versions=helm.api_versions or surroundings.api_versions,
            )


def _helm(source: HelmSource | None, environment: Environment) -> HelmSource:
    helm = source or HelmSource()
    return replace(
        helm,
        value_files=tuple(substitute(name, environment) for name in helm.value_files),
        parameters=tuple(
            replace(one, value=substitute(one.value, environment)) for one in helm.parameters
        ),
        file_parameters=tuple(
            replace(one, path=substitute(one.path, environment)) for one in helm.file_parameters
        ),
    )


def _kustomize(source: KustomizeSource | None, environment: Environment) -> KustomizeSource:
    kustomize = source or KustomizeSource()
    annotations = kustomize.common_annotations
    if kustomize.common_annotations_envsubst:
        annotations = _substituted(annotations, environment)
    return replace(
        kustomize,
        images=tuple(substitute(image, environment) for image in kustomize.images),
        common_labels=_substituted(kustomize.common_labels, environment),
        common_annotations=annotations,
    )


def _substituted(values: dict[str, str], environment: Environment) -> dict[str, str]:
    return {key: substitute(value, environment) for key, value in values.items()}


def _override_unsupported(path: str) -> RenderError:
    message = (
        f"{path} overrides the source, which this version does not act on; "
        "write its content into spec.source of the application and remove the file"
    )
    return RenderError(Reason.INVALID_SPEC, message, file=path)
