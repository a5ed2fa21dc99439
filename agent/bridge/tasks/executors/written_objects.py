"""ObjectWriter: puts and deletes Applications and AppProjects; both are idempotent.

No other custom resources can be written. The service sees masked values; a mask that comes back is
replaced by the value that it stands for.

Each written object is marked in the same request: from then on the policy of the cluster's owner
governs the objects that it deploys (handlers/control_plane). An Application that already deploys
objects beyond the policy is not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from agent.bridge.cluster_state import ClusterState
from agent.bridge.tasks.executors import preconditions
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.tasks.task_namespaces import elsewhere, write_target
from agent.kube.errors import NotFoundError
from bus.identity import AppKey, ResourceKey
from bus.link import OBJECT_KINDS, DeleteArguments, LinkTask, PutArguments
from bus.link.kinds import APPLICATION, PROJECT
from bus.metadata_keys import AGENT_RECORDS
from handlers.application.application import (
    NOT_EDITED,
    RESOURCES_FINALIZER,
    Application,
    AppProject,
    AppProjectSpec,
    read_application,
    read_project,
)
from handlers.application.project import DEFAULT_PROJECT
from handlers.application.spec import ApplicationSpec
from handlers.control_plane.governance import Governance, marked, named
from handlers.manifest import access
from handlers.ports import DestinationUnknownError
from handlers.report.hidden_values import RevealedValueError, check_hidden
from handlers.report.redaction import Redaction, identity_of
from handlers.report.restored_objects import UnknownMaskError, restored

_VERSION = "argoproj.io/v1alpha1"
_PLURALS = {kind.name: kind.resource for kind in OBJECT_KINDS if kind.resource and kind.writable}
_READERS: Mapping[str, Callable[[bytes], Application | AppProject]] = {
    APPLICATION.name: read_application,
    PROJECT.name: read_project,
}
_SPECS: Mapping[str, type[msgspec.Struct]] = {
    APPLICATION.name: ApplicationSpec,
    PROJECT.name: AppProjectSpec,
}
_KEPT = ("labels", "annotations", "finalizers")
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectWriter:
    cluster: ClusterState
    governance: Governance
    redaction: Callable[[], Redaction]

    async def put(self, task: LinkTask, args: PutArguments, task_context: TaskContext) -> object:
        manifest = self._checked(args.manifest or {}, task)
        self.check_objects(access.kind(manifest), access.name(manifest))
        live = await self._live(manifest)
        if live is None:
            return await self._create(manifest, task)
        if task_context.repeated and self._replaced(manifest, live) == live:
            return _version_of(live)  # written before the agent was cut off
        if args.create:
            raise TaskFailedError("conflict", f"{task.subject} already exists")
        self.check_known(live)
        preconditions.check(task, live, self.redaction())
        whole = orjson.dumps(self._replaced(manifest, live))
        answer = await self.cluster.client.replace(self._path(manifest), whole)
        return _version_of(msgspec.json.decode(answer))

    async def delete(
        self, task: LinkTask, args: DeleteArguments, task_context: TaskContext
    ) -> object:
        target = write_target(task.subject, args)
        if target.kind == PROJECT.name:
            self._check_unused(target.name)
        elif problem := elsewhere(task.subject, self.cluster.namespace):
            raise TaskFailedError("not_allowed", problem)
        path = f"{self._collection(target.kind)}/{target.name}"
        try:
            live = msgspec.json.decode(await self.cluster.client.get(path))
        except NotFoundError:
            if task_context.repeated:
                return {"deleted": True}
            raise
        self.check_known(live)
        if task_context.repeated:  # the finalizer may be set already
            preconditions.check_identity(task, live)
        else:
            preconditions.check(task, live, self.redaction())
        if target.kind == APPLICATION.name:
            if args.cascade:
                self.check_objects(target.kind, target.name)
            await self._cascade(path, live, cascade=args.cascade)
        await self.cluster.client.delete(path, uid=access.uid(live))
        return {"deleted": True}

    def check_objects(self, kind: str, name: str) -> None:
        """Refuse a write of an Application or project with live objects beyond the policy."""
        denials: dict[ResourceKey, str] = {}
        for app in self._affected(kind, name):
            with suppress(DestinationUnknownError):  # it has no objects anywhere
                live = self.cluster.clusters.of(app.spec.destination).live
                keys = (one.key for one in live.tracked(app.key) if not one.owners)
                denials |= self.governance.control_plane_denials(app, keys)
        if denials:
            raise TaskFailedError("not_allowed", f"{kind} {name} is beyond: {named(denials)}")

    def check_known(self, live: Mapping[str, Any]) -> None:
        if access.kind(live) == APPLICATION.name:
            key = AppKey(self.cluster.namespace, access.name(live))
            preconditions.check_known(live, self.cluster.applications.get(key))

    def _affected(self, kind: str, name: str) -> Sequence[Application]:
        """The Application of that name, or the Applications of the project."""
        if kind == APPLICATION.name:
            app = self.cluster.applications.get(AppKey(self.cluster.namespace, name))
            return () if app is None else (app,)
        return [app for app in self.cluster.applications.all() if app.spec.project == name]

    def _check_unused(self, project: str) -> None:
        """Refuse to delete a project that has Applications, as Argo CD does."""
        if project == DEFAULT_PROJECT.metadata.name:
            raise TaskFailedError("not_allowed", "the project default cannot be deleted")
        members = [app for app in self.cluster.applications.all() if app.spec.project == project]
        if members:
            some = ", ".join(str(app.key) for app in members[:_NAMED])
            text = f"{len(members)} applications are of project {project}: {some}"
            raise TaskFailedError("conflict", text)

    def _checked(self, manifest: dict[str, Any], task: LinkTask) -> dict[str, Any]:
        kind, metadata = access.kind(manifest), access.mapping(manifest, "metadata")
        if kind not in _PLURALS or access.api_version(manifest) != _VERSION:
            text = "expected an Application or AppProject of argoproj.io/v1alpha1"
            raise TaskFailedError("invalid", text)
        namespace, name = self.cluster.namespace, access.name(manifest)
        if access.namespace(manifest) not in ("", namespace) or not name:
            text = f"expected a name, and namespace {namespace}: the one of this agent"
            raise TaskFailedError("invalid", text)
        if task.subject and task.subject.rpartition("/")[2] != name:
            raise TaskFailedError("invalid", f"the task is about {task.subject}, not {name}")
        kept = {key: metadata[key] for key in _KEPT if key in metadata}
        if "annotations" in kept:
            annotations = access.mapping(metadata, "annotations")
            kept["annotations"] = {
                name: annotations[name] for name in annotations.keys() - AGENT_RECORDS
            }
        return {
            "apiVersion": _VERSION,
            "kind": kind,
            "metadata": {"name": name, "namespace": namespace, **kept},
            "spec": access.mapping(manifest, "spec"),
        }

    async def _live(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = msgspec.json.decode(
                await self.cluster.client.get(self._path(manifest))
            )
        except NotFoundError:
            return None
        return found

    async def _create(self, manifest: dict[str, Any], task: LinkTask) -> object:
        if task.precondition.get("uid"):
            raise TaskFailedError("not_found", f"{task.subject} is gone")
        body = marked(self._unmasked(manifest, {}))
        answer = await self.cluster.client.create(
            self._collection(access.kind(manifest)), orjson.dumps(body)
        )
        return _version_of(msgspec.json.decode(answer))

    def _replaced(self, manifest: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
        """The live object with the manifest's spec and metadata; all other fields stay."""
        body = self._unmasked(manifest, live)
        args = access.mapping(body, "metadata")
        metadata = {**live["metadata"], **{key: args[key] for key in _KEPT if key in args}}
        before = access.mapping(live, "metadata", "annotations")
        kept = {name: before[name] for name in before.keys() & NOT_EDITED}
        metadata["annotations"] = {**kept, **access.mapping(metadata, "annotations")}
        spec = {**_undeclared(access.kind(manifest), live), **body["spec"]}
        return marked({**live, "metadata": metadata, "spec": spec})

    def _unmasked(self, manifest: dict[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
        redaction = self.redaction().within(identity_of(live or manifest))
        before = {"spec": live.get("spec"), "metadata": live.get("metadata")}
        try:
            edited = _edited(manifest)
            meant = restored(edited, before, redaction)
            check_hidden(edited, redaction.value(meant))
        except (UnknownMaskError, RevealedValueError) as error:
            raise TaskFailedError("invalid", str(error)) from error
        body: dict[str, Any] = {**manifest, **meant}
        _READERS[access.kind(manifest)](orjson.dumps(body))
        return body

    async def _cascade(self, path: str, live: Mapping[str, Any], *, cascade: bool) -> None:
        """Set or remove the finalizer, and mark the object so that the policy governs it."""
        finalizers = list(access.get(live, "metadata", "finalizers") or ())
        ours = [one for one in finalizers if one.startswith(RESOURCES_FINALIZER)]
        if cascade and not ours:
            finalizers.append(RESOURCES_FINALIZER)
        elif not cascade and ours:
            finalizers = [one for one in finalizers if one not in ours]
        version = access.resource_version(live)
        metadata = {"finalizers": finalizers, "resourceVersion": version}
        patch = marked({"metadata": metadata})
        await self.cluster.client.merge_patch(path, patch)

    def _path(self, manifest: Mapping[str, Any]) -> str:
        return f"{self._collection(access.kind(manifest))}/{access.name(manifest)}"

    def _collection(self, kind: str) -> str:
        return f"/apis/{_VERSION}/namespaces/{self.cluster.namespace}/{_PLURALS[kind]}"


def is_custom_resource(kind: str) -> bool:
    """Whether objects of the kind are manifests, which this module writes."""
    return kind in _PLURALS


def _undeclared(kind: str, live: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the spec that the service never sees: they stay as they are."""
    shown = {field.encode_name for field in msgspec.structs.fields(_SPECS[kind])}
    spec = access.mapping(live, "spec")
    return {name: value for name, value in spec.items() if name not in shown}


def _edited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": manifest["spec"], "metadata": manifest["metadata"]}


def _version_of(manifest: Mapping[str, Any]) -> object:
    return {
        "uid": access.uid(manifest),
        "resourceVersion": access.resource_version(manifest),
    }
