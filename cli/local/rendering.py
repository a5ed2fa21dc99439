"""Rendering without a cluster: the agent's own detection, recipe and assembly over local files.

What only a cluster knows is supposed: every kind is served in the version that is written, and
kinds are namespaced unless Kubernetes itself has them for the whole cluster.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.download.disk import open_disk
from agent.download.services import DownloadServices
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials
from agent.git.server_trust import MachineTrust
from agent.git.tree import local_commit
from agent.renderer.renderer import SandboxRenderer
from agent.sources import source_readers
from agent.version_range import VersionChoice
from bus.identity import Revision
from cli.local.directory import DirectoryTree
from cli.local.inputs import APPLICATION, DEFAULT_NAMESPACE, InputDocument, InputError
from handlers.application.application import Application
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.project import DEFAULT_PROJECT
from handlers.application.spec import Destination, Source
from handlers.application.target_revision import asked_revision
from handlers.application.validate import problems
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind, KindInfo, Kinds
from handlers.manifest.manifest_assembly import Written, objects_of
from handlers.manifest.tracking import app_identity
from handlers.ports import CommitTree, RepositoryError, Sources
from handlers.ports.rendering import RenderError
from handlers.render.artifact import ArtifactOwner, assemble, decoded
from handlers.render.recipes import ClusterVersions, recipe_at
from handlers.render.source_overrides import effective_source
from handlers.render.source_resolver import with_only
from sandbox.client.pool import Sandbox

KUBE_VERSION = "1.35.0"
_CLUSTER_WIDE = {
    "": ("Namespace", "Node", "PersistentVolume", "ComponentStatus"),
    "admissionregistration.k8s.io": (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("IngressClass", "IPAddress", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
}
DEFAULT_PROJECT = replace(
    DEFAULT_PROJECT, spec=replace(DEFAULT_PROJECT.spec, source_namespaces=("*",))
)
CLUSTER_WIDE = frozenset(
    GroupKind(group, kind) for group, kinds in _CLUSTER_WIDE.items() for kind in kinds
)


def read_app(document: InputDocument) -> Application:
    """Read an Application; raises InputError that names the wrong field."""
    kind = GroupKind.of(document.manifest)
    if kind != APPLICATION:
        raise document.refused(f"expected an Application of argoproj.io, found {kind}")
    try:
        app = msgspec.convert(document.manifest, Application)
    except msgspec.ValidationError as e:
        raise document.refused(str(e)) from e
    if not app.metadata.namespace:
        metadata = replace(app.metadata, namespace=DEFAULT_NAMESPACE)
        app = replace(app, metadata=metadata)
    return app


async def render(
    app: Application,
    sources: Sequence[SourceFiles],
    sandbox: Sandbox,
    api_versions: Sequence[str] = (),
) -> Sequence[dict[str, Any]]:
    """Render the objects as the agent would apply them; raises InputError."""
    if wrong := _source_problems(app):
        raise InputError("; ".join(f"{app.key}: {problem}" for problem in wrong))
    identity = app_identity(app.key, app.metadata.namespace)
    owner = ArtifactOwner(identity=identity, namespace=app.spec.destination.namespace)
    try:
        versions = ClusterVersions(KUBE_VERSION, tuple(api_versions))
        written = [
            document
            for place, one in enumerate(sources)
            for document in await _written(place, one, sources, sandbox, versions)
        ]
        return objects_of(assemble(written, supposed_kinds(written), owner).content)
    except (RenderError, RepositoryError) as e:
        raise InputError(f"{app.key}: {e.message}") from e


async def _written(
    place: int,
    one: SourceFiles,
    sources: Sequence[SourceFiles],
    sandbox: Sandbox,
    versions: ClusterVersions,
) -> Sequence[Written]:
    if not one.source.renders:
        return ()
    trees = {it.source.ref: it.tree for it in sources if it.source.ref}
    renderer, project = SandboxRenderer(sandbox), one.app.spec.project
    source = await effective_source(
        one.source, one.tree, one.app.metadata.name, renderer=renderer, project=project
    )
    app = with_only(one.app, source)
    recipe = recipe_at(app, one.revision, one.tree, versions, refs=tuple(trees))
    refs = {name: trees[name] for name in recipe.refs}
    return decoded(await renderer.render(recipe, one.tree, refs=refs), place)


def _source_problems(app: Application) -> list[str]:
    """List problems of the source: destination and project are checked by the cluster's agent."""
    here = Destination(server=IN_CLUSTER_SERVER, namespace=app.spec.destination.namespace)
    spec = replace(app.spec, destination=here, project="default")
    return [one.message for one in problems(replace(app, spec=spec), DEFAULT_PROJECT)]


def supposed_kinds(written: Iterable[Written]) -> Kinds:
    documents = (document for _, document in written if isinstance(document, dict))
    objects = (
        one for document in documents for one in (document, *access.items(document, "items"))
    )
    return Kinds(_supposed(one) for one in objects)


def _supposed(manifest: access.Manifest) -> KindInfo:
    kind = GroupKind.of(manifest)
    return KindInfo(
        group=kind.group,
        version=access.version(manifest),
        kind=kind.kind,
        plural=f"{kind.kind.lower()}s",
        namespaced=kind not in CLUSTER_WIDE,
    )


UNCOMMITTED = Revision("0" * 40)
"""Stands for the revision where files are taken as they are."""


class SourceFiles(msgspec.Struct, frozen=True):
    """The files of one source, and the Application as if it had no other."""

    app: Application
    source: Source
    tree: CommitTree
    revision: Revision


@asynccontextmanager
async def files_of(
    app: Application, folder: str, revision: str, versions: VersionChoice
) -> AsyncIterator[Sequence[SourceFiles]]:
    """Open the files of each source; an empty `folder` means to fetch its `repoURL`.

    Fetched without credentials. Raises InputError or RepositoryError.
    """
    if not app.sources:
        raise InputError(f"{app.key}: spec.source is missing")
    if (folder or revision) and len({one.repo_url for one in app.sources}) > 1:
        option = "--repo" if folder else "--revision"
        text = f"its sources are of several repositories; leave out {option}"
        raise InputError(f"{app.key}: {text}")
    if not folder:
        async with _fetched(app, revision, versions) as found:
            yield found
    else:
        commit, tree = _local(Path(folder), revision)
        yield [SourceFiles(with_only(app, one), one, tree, commit) for one in app.sources]


def _local(folder: Path, revision: str) -> tuple[Revision, CommitTree]:
    if not folder.is_dir():
        raise InputError(f"--repo {folder}: is not a directory")
    return local_commit(folder, revision) if revision else (UNCOMMITTED, DirectoryTree(folder))


@asynccontextmanager
async def _fetched(
    app: Application, revision: str, versions: VersionChoice
) -> AsyncIterator[Sequence[SourceFiles]]:
    for one in app.sources:
        if one.repo_url.startswith(("file:", "/", ".")):
            raise InputError(
                f"{app.key}: {one.repo_url} is a folder of this machine, which the agent cannot "
                "reach; say --repo DIR to take the files from there"
            )
    with tempfile.TemporaryDirectory(prefix="gitops-render-") as folder:
        settings = MirrorSettings(folder=Path(folder))
        async with Mirrors(settings, SecretCredentials(tuple), versions=versions) as mirrors:
            services = DownloadServices(
                disk=open_disk(Path(folder) / "charts"),
                credentials=SecretCredentials(tuple),
                trust=MachineTrust(),
                outcomes=mirrors.outcomes,
                versions=versions,
            )
            readers = source_readers(mirrors, services)
            yield [await _fetched_source(app, one, revision, readers) for one in app.sources]


async def _fetched_source(
    app: Application, source: Source, revision: str, sources: Sources
) -> SourceFiles:
    repository = sources.access(source, app.spec.project)
    await sources.fetch(repository)
    found = await sources.resolve(repository, asked_revision(source, revision))
    tree = await sources.tree(repository, found)
    return SourceFiles(with_only(app, source), source, tree, found)
