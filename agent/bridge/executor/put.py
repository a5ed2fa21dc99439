"""Put and delete: our own objects, as the service wants them. Doing it twice is doing it once.

Only what this agent is made of can be written: Applications, projects, and the connections of
connections.py. What people see is masked; masks that come back are replaced by what they stand for.

Whatever is written is marked in the same request: from then on the policy of the cluster's owner
holds for its objects (handlers/control_plane). Where it has some beyond that, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.connections import Connections
from agent.bridge.executor.tools import Tools
from agent.kube.errors import NotFoundError
from bus.identity import AppKey, ResourceKey
from bus.link import Task
from handlers.application.application import (
    RESOURCES_FINALIZER,
    Application,
    AppProjectSpec,
    read_application,
    read_project,
)
from handlers.application.defaults import DEFAULT_PROJECT
from handlers.application.spec import ApplicationSpec
from handlers.control_plane.governance import named
from handlers.control_plane.governed import marked
from handlers.manifest import access
from handlers.report.redaction import identity_of
from handlers.report.restore import UnknownMaskError, restored

_VERSION = "argoproj.io/v1alpha1"
_PLURALS = {"Application": "applications", "AppProject": "appprojects"}
_READERS = {"Application": read_application, "AppProject": read_project}
_SPECS: Mapping[str, type[msgspec.Struct]] = {
    "Application": ApplicationSpec,
    "AppProject": AppProjectSpec,
}
_KEPT = ("labels", "annotations", "finalizers")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Objects:
    tools: Tools

    async def put(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Put)
        if said.manifest is None:
            return await Connections(self.tools).put(said)
        manifest = self._checked(said.manifest, task)
        self._check_objects(access.kind(manifest), access.name(manifest))
        live = await self._live(manifest)
        if live is None:
            return await self._create(manifest, task)
        if said.create and not doing.repeated:
            raise TaskFailedError("conflict", f"{task.subject} already exists")
        _check(task.precondition, live, repeated=doing.repeated)
        return await self._replace(manifest, live)

    async def delete(self, task: Task, doing: Doing) -> object:
        said = arguments.read(task, arguments.Delete)
        if said.kind not in _PLURALS:
            return await Connections(self.tools).delete(said.kind, task.subject)
        name = task.subject.rpartition("/")[2]
        if said.kind == "AppProject":
            self._check_unused(name)
        path = f"{self._collection(said.kind)}/{name}"
        try:
            live = msgspec.json.decode(await self.tools.client.get(path))
        except NotFoundError:
            if doing.repeated:
                return {"deleted": True}
            raise
        _check(task.precondition, live, repeated=doing.repeated)
        if said.kind == "Application":
            if said.cascade:
                self._check_objects(said.kind, name)
            await self._cascade(path, live, wanted=said.cascade)
        await self.tools.client.delete(path, uid=access.uid(live))
        return {"deleted": True}

    def _check_objects(self, kind: str, name: str) -> None:
        """What is there already and beyond the policy would be cut off from its source."""
        beyond: dict[ResourceKey, str] = {}
        for app in self._affected(kind, name):
            keys = (one.key for one in self.tools.live.tracked(app.key) if not one.owners)
            beyond |= self.tools.governance.beyond(keys)
        if beyond:
            raise TaskFailedError("not_allowed", f"{kind} {name} is beyond: {named(beyond)}")

    def _affected(self, kind: str, name: str) -> Sequence[Application]:
        """The application, or those of the project."""
        if kind == "Application":
            app = self.tools.applications.get(AppKey(self.tools.namespace, name))
            return () if app is None else (app,)
        return [app for app in self.tools.applications.all() if app.spec.project == name]

    def _check_unused(self, project: str) -> None:
        """As Argo CD has it; whoever means it moves the applications first."""
        if project == DEFAULT_PROJECT.metadata.name:
            raise TaskFailedError("not_allowed", "the project default cannot be deleted")
        of_it = [app for app in self.tools.applications.all() if app.spec.project == project]
        if of_it:
            some = ", ".join(str(app.key) for app in of_it[:_NAMED])
            text = f"{len(of_it)} applications are of project {project}: {some}"
            raise TaskFailedError("conflict", text)

    def _checked(self, manifest: dict[str, Any], task: Task) -> dict[str, Any]:
        kind, metadata = access.kind(manifest), access.mapping(manifest, "metadata")
        if kind not in _PLURALS or access.api_version(manifest) != _VERSION:
            text = "expected an Application or AppProject of argoproj.io/v1alpha1"
            raise TaskFailedError("invalid", text)
        space, name = self.tools.namespace, access.name(manifest)
        if access.namespace(manifest) not in ("", space) or not name:
            text = f"expected a name, and namespace {space}: the one of this agent"
            raise TaskFailedError("invalid", text)
        if task.subject and task.subject.rpartition("/")[2] != name:
            raise TaskFailedError("invalid", f"the task is about {task.subject}, not {name}")
        kept = {key: metadata[key] for key in _KEPT if key in metadata}
        return {
            "apiVersion": _VERSION,
            "kind": kind,
            "metadata": {"name": name, "namespace": space, **kept},
            "spec": access.mapping(manifest, "spec"),
        }

    async def _live(self, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
        path = f"{self._collection(access.kind(manifest))}/{access.name(manifest)}"
        try:
            found: dict[str, Any] = msgspec.json.decode(await self.tools.client.get(path))
        except NotFoundError:
            return None
        return found

    async def _create(self, manifest: dict[str, Any], task: Task) -> object:
        if task.precondition.get("uid"):
            raise TaskFailedError("not_found", f"{task.subject} is gone")
        body = marked(self._unmasked(manifest, {}))
        answer = await self.tools.client.create(
            self._collection(access.kind(manifest)), orjson.dumps(body)
        )
        return _told(answer)

    async def _replace(self, manifest: dict[str, Any], live: dict[str, Any]) -> object:
        """Spec, and labels and annotations where they are said; all else is not ours to say."""
        body = self._unmasked(manifest, live)
        said = access.mapping(body, "metadata")
        metadata = {**live["metadata"], **{key: said[key] for key in _KEPT if key in said}}
        spec = {**_undeclared(access.kind(manifest), live), **body["spec"]}
        whole = marked({**live, "metadata": metadata, "spec": spec})
        path = f"{self._collection(access.kind(manifest))}/{access.name(manifest)}"
        return _told(await self.tools.client.replace(path, orjson.dumps(whole)))

    def _unmasked(self, manifest: dict[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
        redaction = self.tools.redaction().within(identity_of(live or manifest))
        before = {"spec": live.get("spec"), "metadata": live.get("metadata")}
        try:
            body: dict[str, Any] = {**manifest, **restored(_edited(manifest), before, redaction)}
        except UnknownMaskError as error:
            raise TaskFailedError("invalid", str(error)) from error
        _READERS[access.kind(manifest)](orjson.dumps(body))
        return body

    async def _cascade(self, path: str, live: Mapping[str, Any], *, wanted: bool) -> None:
        """Marks it too: what goes with it goes by the policy."""
        finalizers = list(access.get(live, "metadata", "finalizers") or ())
        ours = [one for one in finalizers if one.startswith(RESOURCES_FINALIZER)]
        if wanted and not ours:
            finalizers.append(RESOURCES_FINALIZER)
        elif not wanted and ours:
            finalizers = [one for one in finalizers if one not in ours]
        version = access.resource_version(live)
        metadata = {"finalizers": finalizers, "resourceVersion": version}
        patch = marked({"metadata": metadata})
        await self.tools.client.merge_patch(path, patch)

    def _collection(self, kind: str) -> str:
        return f"/apis/{_VERSION}/namespaces/{self.tools.namespace}/{_PLURALS[kind]}"


def _undeclared(kind: str, live: Mapping[str, Any]) -> dict[str, Any]:
    """What was never shown cannot be missing from what comes back: it stays."""
    shown = {field.encode_name for field in msgspec.structs.fields(_SPECS[kind])}
    spec = access.mapping(live, "spec")
    return {name: value for name, value in spec.items() if name not in shown}


def _edited(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": manifest["spec"], "metadata": manifest["metadata"]}


def _check(precondition: Mapping[str, str], live: Mapping[str, Any], *, repeated: bool) -> None:
    """A version that we ourselves changed before we were cut off is no conflict."""
    uid, version = precondition.get("uid"), precondition.get("resourceVersion")
    if uid and uid != access.uid(live):
        raise TaskFailedError("conflict", "it was deleted and made again since")
    if version and version != access.resource_version(live) and not repeated:
        raise TaskFailedError("conflict", "it changed since")


def _told(answer: bytes) -> object:
    manifest = msgspec.json.decode(answer)
    return {
        "uid": access.uid(manifest),
        "resourceVersion": access.resource_version(manifest),
    }
