"""Recipes made of Applications: everything that a render depends on besides the files. Pure.

Only a chart sees the destination's version and API versions; plain manifests and kustomizations do
not, so that a new CustomResourceDefinition in the cluster leaves their renders valid. Argo CD's
build environment (variables such as `$ARGOCD_APP_NAME`) is substituted where Argo CD does it:
parameters and file names of charts, images and labels of kustomizations, their annotations when
asked to. Not in inline values.

A value that uses the revision makes each commit a recipe of its own. `names_revision` recognises
such sources, because their read set alone does not say whether a render is up to date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from bus.identity import Revision
from bus.redaction import without_user_info
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.plugin_source import plugin_environment
from handlers.application.source_refs import referenced, used_refs
from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource, Source
from handlers.application.tool_settings import JSONNET, ToolSettings
from handlers.ports import CommitTree
from handlers.ports.rendering import PluginRecipe, Recipe, RenderError, SourceType
from handlers.render import source_type

Environment = Mapping[str, str]

_VARIABLE = re.compile(r"\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


def build_environment(
    app: Application, revision: Revision, kube_version: str, api_versions: tuple[str, ...]
) -> Environment:
    source = app.source or Source(repo_url="")
    return {
        "ARGOCD_APP_NAME": app.metadata.name,
        "ARGOCD_APP_NAMESPACE": app.spec.destination.namespace,
        "ARGOCD_APP_PROJECT_NAME": app.spec.project,
        "ARGOCD_APP_REVISION": revision,
        "ARGOCD_APP_REVISION_SHORT": revision[:7],
        "ARGOCD_APP_REVISION_SHORT_8": revision[:8],
        "ARGOCD_APP_SOURCE_PATH": source.path,
        "ARGOCD_APP_SOURCE_REPO_URL": source.repo_url,
        "ARGOCD_APP_SOURCE_TARGET_REVISION": source.target_revision,
        "KUBE_VERSION": kube_version,
        "KUBE_API_VERSIONS": ",".join(api_versions),
    }


def substitute(text: str, environment: Environment) -> str:
    """Replace `$X` and `${X}` by their values, unknown ones by nothing, and `$$` by a dollar."""
    if "$" not in text:
        return text
    return _VARIABLE.sub(lambda found: _value(found, environment), text)


def names_revision(source: Source) -> bool:
    """Whether the source uses the commit's id; cheap, as every push asks it of every source."""
    if source.helm is None and source.kustomize is None:
        return False
    written = (block for block in (source.helm, source.kustomize) if block is not None)
    return any(b"ARGOCD_APP_REVISION" in msgspec.json.encode(block) for block in written)


def _value(found: re.Match[str], environment: Environment) -> str:
    dollar, braced, plain = found.groups()
    return "$" if dollar else environment.get(braced or plain, "")


NO_TOOL_SETTINGS = ToolSettings()
Versions = tuple[str, ...]
"""`group/version` and `group/version/Kind` of a destination."""


class ClusterVersions(msgspec.Struct, frozen=True):
    """What a destination serves: the version of Kubernetes, and API versions."""

    kube: str
    api_versions: Versions = ()


def recipe_at(
    app: Application,
    revision: Revision,
    tree: CommitTree,
    cluster: ClusterVersions,
    *,
    tools: ToolSettings = NO_TOOL_SETTINGS,
    refs: Sequence[str] = (),
) -> Recipe:
    """Make the recipe of the only source at a revision; agent and command line share it.

    `tools` are the settings of tools, `refs` the names of other sources whose files
    the source may read. Raises RenderError.
    """
    source = app.source
    if source is None:
        raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
    folder = source_type.folder_of(source, tree)
    environment = build_environment(app, revision, cluster.kube, cluster.api_versions)
    context = RecipeContext(environment, cluster.kube, cluster.api_versions, tuple(refs), tools)
    if source.plugin is not None:
        message = "spec.source.plugin: plugins run beside an agent only, so nothing renders it here"
        raise RenderError(Reason.PLUGIN_NOT_FOUND, message)
    type_ = source_type.detect(source, folder, tree, tools.disabled)
    return recipe_of(type_, app, folder, context)


def plugin_recipe_at(
    app: Application, revision: Revision, tree: CommitTree, cluster: ClusterVersions, plugin: str
) -> Recipe:
    """Make the recipe of the only source for the plugin that renders it; raises RenderError."""
    source = app.source
    if source is None:
        raise RenderError(Reason.INVALID_SPEC, "spec.source is missing")
    folder = source_type.folder_of(source, tree)
    environment = build_environment(app, revision, cluster.kube, cluster.api_versions)
    context = RecipeContext(environment, cluster.kube, cluster.api_versions, plugin=plugin)
    return recipe_of(SourceType.PLUGIN, app, folder, context)


class RecipeContext(msgspec.Struct, frozen=True):
    """The parts of a recipe that do not stand in the source."""

    environment: Environment
    kube_version: str
    api_versions: Versions
    refs: tuple[str, ...] = ()
    tools: ToolSettings = NO_TOOL_SETTINGS
    plugin: str = ""


def recipe_of(type_: SourceType, app: Application, folder: str, context: RecipeContext) -> Recipe:
    source = app.source or Source(repo_url="")
    environment = context.environment
    plain = Recipe(
        type=type_,
        path=folder,
        app_name=app.metadata.name,
        namespace=app.spec.destination.namespace,
    )
    match type_:
        case SourceType.DIRECTORY:
            directory = source.directory or DirectorySource()
            skipped = JSONNET in context.tools.disabled
            return replace(plain, directory=directory, skip_jsonnet=skipped)
        case SourceType.KUSTOMIZE:
            kustomize = _kustomize(source.kustomize, environment)
            recipe = replace(plain, kustomize=kustomize, build=context.tools.build)
            if not recipe.build.enable_helm:
                return recipe
            return replace(
                recipe,
                kube_version=kustomize.kube_version or context.kube_version,
                api_versions=kustomize.api_versions or context.api_versions,
            )
        case SourceType.HELM:
            helm = _helm(source.helm, context)
            return replace(
                plain,
                helm=helm,
                refs=used_refs(helm, context.refs),
                kube_version=helm.kube_version or context.kube_version,
                api_versions=helm.api_versions or context.api_versions,
            )
        case SourceType.PLUGIN:
            return replace(plain, plugin=_plugin(source, context))


def _plugin(source: Source, context: RecipeContext) -> PluginRecipe:
    """The plugin with its variables; a login in the repository's URL is none of its business."""
    url = without_user_info(source.repo_url)
    environment = {**context.environment, "ARGOCD_APP_SOURCE_REPO_URL": url}
    variables = plugin_environment(
        source.plugin, environment, lambda value: substitute(value, environment)
    )
    return PluginRecipe(context.plugin, variables)


def _helm(source: HelmSource | None, context: RecipeContext) -> HelmSource:
    helm, environment = source or HelmSource(), context.environment
    return replace(
        helm,
        value_files=tuple(_path(name, context) for name in helm.value_files),
        parameters=tuple(
            replace(one, value=substitute(one.value, environment)) for one in helm.parameters
        ),
        file_parameters=tuple(
            replace(one, path=_path(one.path, context)) for one in helm.file_parameters
        ),
    )


def _path(written: str, context: RecipeContext) -> str:
    """A path with its variables replaced; a ref at its begin is none of them."""
    ref, slash, rest = written.partition("/")
    if referenced(written) in context.refs and context.refs:
        return f"{ref}{slash}{substitute(rest, context.environment)}"
    return substitute(written, context.environment)


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
