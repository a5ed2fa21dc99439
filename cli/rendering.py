"""Rendering without a cluster: the agent's own detection, recipe and assembly over local files.

What only a cluster knows is supposed: every kind is served in the version that is written, and
kinds are namespaced unless Kubernetes itself has them for the whole cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.sandbox.pool import Sandbox
from cli.inputs import APPLICATION, DEFAULT_NAMESPACE, Document, InputError
from cli.sources import Files
from handlers.application.application import Application
from handlers.application.defaults import DEFAULT_PROJECT
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.spec import Destination
from handlers.application.validate import problems
from handlers.manifest import access
from handlers.manifest.kinds import GroupKind, KindInfo, Kinds
from handlers.manifest.tracking import app_identity
from handlers.manifest.validate import Written
from handlers.ports import RepositoryError
from handlers.render.assemble import Owner, assemble, decoded, objects_of
from handlers.render.recipe import RenderError
from handlers.render.recipes import recipe_at

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


def read_app(document: Document) -> Application:
    """Raises InputError that names the field that is wrong."""
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
    app: Application, files: Files, sandbox: Sandbox, api_versions: Sequence[str] = ()
) -> Sequence[dict[str, Any]]:
    """The objects as the agent would apply them; raises InputError."""
    if wrong := _source_problems(app):
        raise InputError("; ".join(f"{app.key}: {problem}" for problem in wrong))
    identity = app_identity(app.key, app.metadata.namespace)
    owner = Owner(identity=identity, namespace=app.spec.destination.namespace)
    try:
        recipe = recipe_at(app, files.revision, files.tree, KUBE_VERSION, tuple(api_versions))
        written = decoded(await sandbox.render(recipe, files.tree))
        return objects_of(assemble(written, supposed_kinds(written), owner).content)
    except (RenderError, RepositoryError) as e:
        raise InputError(f"{app.key}: {e.message}") from e


def _source_problems(app: Application) -> list[str]:
    """What is wrong wherever it is deployed: destination and project are the cluster's to judge."""
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
