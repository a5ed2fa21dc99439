"""ObjectWriter: puts and deletes Applications and AppProjects; both are idempotent.

No other custom resources can be written. What a put makes of an object: edited_objects.py. A write
that meets one of the agent's own is done again on what is there by then.

Each written object is marked in the same request: from then on the policy of the cluster's owner
governs the objects that it deploys (handlers/control_plane). An Application that already deploys
objects beyond the policy is not changed.
An Application of another namespace is written where ApplicationPlaces permits it for its project,
as it is and as it shall be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from agent.bridge.cluster_state import ClusterState
from agent.bridge.tasks.executors import preconditions
from agent.bridge.tasks.executors.application_places import ApplicationPlaces
from agent.bridge.tasks.executors.edited_objects import merged, unmasked
from agent.bridge.tasks.executors.write_conflicts import repeated_on_conflict
from agent.bridge.tasks.executors.written_manifest import (
    PLURALS,
    VERSION,
    check_name,
    checked_manifest,
)
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.bridge.tasks.task_namespaces import WriteTarget, write_target
from agent.kube.errors import NotFoundError
from bus.identity import AppKey, ResourceKey
from bus.link import DeleteArguments, LinkTask, PutArguments
from bus.link.kinds import APPLICATION, PROJECT
from handlers.application.application import (
    RESOURCES_FINALIZER,
    Application,
)
from handlers.application.project import DEFAULT_PROJECT
from handlers.control_plane.governance import Governance, marked, named
from handlers.manifest import access
from handlers.ports import DestinationUnknownError
from handlers.report.redaction import Redaction

_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectWriter:
    cluster: ClusterState
    governance: Governance
    places: ApplicationPlaces
    redaction: Callable[[], Redaction]

    async def put(self, task: LinkTask, args: PutArguments, task_context: TaskContext) -> object:
        manifest = checked_manifest(args.manifest or {}, task, self.places)
        namespace = access.namespace(manifest)
        self.check_objects(access.kind(manifest), namespace, access.name(manifest))
        if access.kind(manifest) == APPLICATION.name:
            self.places.check(namespace, _project_of(manifest))
        return await repeated_on_conflict(
            task.subject, lambda: self._put(manifest, task, args, task_context)
        )

    async def _put(
        self,
        manifest: dict[str, Any],
        task: LinkTask,
        args: PutArguments,
        task_context: TaskContext,
    ) -> object:
        live = await self._live(manifest)
        if live is None:
            return await self._create(manifest, task)
        if task_context.repeated and merged(manifest, live, self.redaction()) == live:
            return _version_of(live)  # written before the agent was cut off
        if args.create:
            raise TaskFailedError("conflict", f"{task.subject} already exists")
        self.check_known(live)
        if access.kind(live) == APPLICATION.name:
            self.places.check(access.namespace(live), _project_of(live))
        preconditions.check(task, live, self.redaction())
        whole = orjson.dumps(merged(manifest, live, self.redaction()))
        answer = await self.cluster.client.replace(self._path(manifest), whole)
        return _version_of(msgspec.json.decode(answer))

    async def delete(
        self, task: LinkTask, args: DeleteArguments, task_context: TaskContext
    ) -> object:
        target = write_target(task.subject, args, self.cluster.namespace)
        check_name(target.name)
        if target.kind == PROJECT.name:
            self._check_unused(target.name)
        else:
            self.places.check_followed(target.namespace)
        path = f"{self._collection(target.kind, target.namespace)}/{target.name}"
        try:
            live = await self._read(path)
        except NotFoundError:
            if task_context.repeated:
                return {"deleted": True}
            raise
        # From here on the task is about this object, and not about a successor of the same name.
        task = replace(task, precondition={**task.precondition, "uid": access.uid(live)})
        await repeated_on_conflict(
            task.subject, lambda: self._release(path, target, task, args, task_context)
        )
        await self.cluster.client.delete(path, uid=access.uid(live))
        return {"deleted": True}

    async def _release(
        self,
        path: str,
        target: WriteTarget,
        task: LinkTask,
        args: DeleteArguments,
        task_context: TaskContext,
    ) -> None:
        """Check whether the object may be deleted, and set what its deletion takes along."""
        live = await self._read(path)
        self.check_known(live)
        if task_context.repeated:  # the finalizer may be set already
            preconditions.check_identity(task, live)
        else:
            preconditions.check(task, live, self.redaction())
        if target.kind == APPLICATION.name:
            self.places.check(target.namespace, _project_of(live))
            if args.cascade:
                self.check_objects(target.kind, target.namespace, target.name)
            await self._cascade(path, live, cascade=args.cascade)

    def check_objects(self, kind: str, namespace: str, name: str) -> None:
        """Refuse a write of an Application or project with live objects beyond the policy."""
        denials: dict[ResourceKey, str] = {}
        for app in self._affected(kind, namespace, name):
            with suppress(DestinationUnknownError):  # it has no objects anywhere
                live = self.cluster.clusters.of(app.spec.destination).live
                keys = (one.key for one in live.tracked(app.key) if not one.owners)
                denials |= self.governance.control_plane_denials(app, keys)
        if denials:
            raise TaskFailedError("not_allowed", f"{kind} {name} is beyond: {named(denials)}")

    def check_known(self, live: Mapping[str, Any]) -> None:
        if access.kind(live) == APPLICATION.name:
            key = AppKey(access.namespace(live), access.name(live))
            preconditions.check_known(live, self.cluster.applications.get(key))

    def _affected(self, kind: str, namespace: str, name: str) -> Sequence[Application]:
        """The Application of that name, or the Applications of the project."""
        if kind == APPLICATION.name:
            app = self.cluster.applications.get(AppKey(namespace, name))
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

    async def _live(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        try:
            return await self._read(self._path(manifest))
        except NotFoundError:
            return None

    async def _read(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(await self.cluster.client.get(path))
        return found

    async def _create(self, manifest: dict[str, Any], task: LinkTask) -> object:
        if task.precondition.get("uid"):
            raise TaskFailedError("not_found", f"{task.subject} is gone")
        body = marked(unmasked(manifest, {}, self.redaction()))
        answer = await self.cluster.client.create(
            self._collection(access.kind(manifest), access.namespace(manifest)), orjson.dumps(body)
        )
        return _version_of(msgspec.json.decode(answer))

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
        kind, namespace = access.kind(manifest), access.namespace(manifest)
        return f"{self._collection(kind, namespace)}/{access.name(manifest)}"

    def _collection(self, kind: str, namespace: str) -> str:
        return f"/apis/{VERSION}/namespaces/{namespace}/{PLURALS[kind]}"


def is_custom_resource(kind: str) -> bool:
    """Whether objects of the kind are manifests, which this module writes."""
    return kind in PLURALS


def _project_of(manifest: Mapping[str, Any]) -> str:
    return access.text(manifest, "spec", "project") or DEFAULT_PROJECT.metadata.name


def _version_of(manifest: Mapping[str, Any]) -> object:
    return {
        "uid": access.uid(manifest),
        "resourceVersion": access.resource_version(manifest),
    }
