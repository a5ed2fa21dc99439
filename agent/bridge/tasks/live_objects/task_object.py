"""TaskObject is the live object that a task is about, read anew, with its Application.

It is found in the tree of the application, so that no task reaches an object of another one. What
project and policy deny to a sync over the link is denied to every change of a single object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.bridge.reporting.object_nodes import ObjectNode, VisibleObjects
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.executors.written_objects import ObjectWriter
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.kube.client import KubeClient
from agent.kube.cluster import KubeCluster
from agent.kube.clusters import Session
from agent.kube.discovery import object_path
from bus.identity import ResourceKey
from bus.link import LinkTask, ObjectArguments
from bus.link.kinds import APPLICATION
from handlers.actions.action import ActionChange
from handlers.actions.object_change import LiveObjectChange, object_change
from handlers.application.application import Application
from handlers.application.denials import denials
from handlers.application.project import DEFAULT_PROJECT
from handlers.comparison.comparison import ComparedPair
from handlers.comparison.reader import ComparisonReader
from handlers.control_plane.governance import is_ours, named
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.foreign_mark import foreign_mark
from handlers.ports import ApplyRefusedError, ClusterWriter
from handlers.report.hidden_values import hidden_texts, quoted
from handlers.report.redaction import Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObject:
    app: Application
    session: Session
    client: KubeClient
    """As the account that the project names: all writes are made by it."""
    writer: ClusterWriter
    """Likewise."""
    redaction: Redaction
    tracking_label: str
    """The label that says which application an object belongs to; empty where none does."""
    key: ResourceKey
    path: str
    """Of the API server."""
    manifest: Manifest
    """Without managedFields."""
    owned: Sequence[ResourceKey]
    """The objects below it in the tree."""
    foreign_mark: str = ""
    """The mark by which the object may be an application's that is not known here."""
    orphaned: bool = False
    """Whether no application has it: then it can be deleted, and nothing else."""

    @property
    def uid(self) -> str:
        return access.uid(self.manifest)

    def explained(self, error: ApplyRefusedError, *written: Manifest) -> ApplyRefusedError:
        """Say what right a refused write lacks, and no hidden value of the object as it was.

        Nor one of `written`: what the server was sent.
        """
        hidden: set[str] = set()
        for manifest in (self.manifest, *written):
            hidden |= hidden_texts(manifest, self.redaction)
        message = quoted(error.message, hidden)
        discreet = type(error)(message, code=error.code, permanent=error.permanent)
        if not isinstance(self.writer, KubeCluster):
            return discreet
        return self.writer.explained(discreet, self.manifest)

    def changed(self, changes: Iterable[ActionChange]) -> LiveObjectChange:
        """Check the changes of an action or an edit; raises ActionError."""
        return object_change(
            self.manifest, changes, self.is_namespaced, tracking_label=self.tracking_label
        )

    def is_namespaced(self, group: str, kind: str) -> bool | None:
        """Whether objects of a kind have a namespace; None where the cluster serves none."""
        served = self.session.live.kind(group, kind)
        return served.namespaced if served else None

    def check_unchanged(self, uid: str, resource_version: str = "") -> None:
        """Raise TaskFailedError where it is not the object that the requester saw."""
        version = access.resource_version(self.manifest)
        if uid not in ("", self.uid):
            text = f"{self.key} was deleted and created again after it was read"
        elif resource_version not in ("", version):
            text = f"{self.key} changed after it was read: read it again, then repeat"
        else:
            return
        raise TaskFailedError("conflict", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObjects:
    """Finds the objects of tasks, and says what may be done to them."""

    subjects: TaskSubjects
    objects: VisibleObjects
    comparisons: ComparisonReader
    redaction: Callable[[], Redaction]
    writer: ObjectWriter
    """Judges changes of Applications, which have objects of their own."""

    async def find(self, task: LinkTask, args: ObjectArguments, context: TaskContext) -> TaskObject:
        """Read the object; raises TaskFailedError where it is none of the application's."""
        app = self.subjects.app_of_command(task, context)
        return await self._read(app, _key(args), self.objects.nodes(app))

    async def find_with_orphans(
        self, task: LinkTask, args: ObjectArguments, context: TaskContext
    ) -> TaskObject:
        """Read the object likewise, or one of the orphaned resources that the tree shows."""
        app, key = self.subjects.app_of_command(task, context), _key(args)
        nodes = self.objects.nodes(app)
        if key in nodes:
            return await self._read(app, key, nodes)
        orphans = self.objects.orphan_nodes(app)
        return replace(await self._read(app, key, orphans), orphaned=True)

    async def _read(
        self, app: Application, key: ResourceKey, nodes: Mapping[ResourceKey, ObjectNode]
    ) -> TaskObject:
        node = nodes.get(key)
        session = self.objects.session(app)
        kind = session.live.kind(key.group, key.kind)
        if node is None or kind is None:
            raise TaskFailedError("not_found", f"{key} is no live object of {app.key}")
        path = object_path(kind, key.namespace, key.name)
        found = msgspec.json.decode(await session.client.get(path), type=dict[str, object])
        manifest = {**found, "metadata": _metadata(found)}
        if access.uid(manifest) != node.live.uid:
            text = f"{key} was created again a moment ago: try again"
            raise TaskFailedError("conflict", text)
        parents = {name: one.parents for name, one in nodes.items()}
        return TaskObject(
            app=app,
            session=session,
            client=self.objects.client_as(app),
            writer=self.objects.writer_as(app),
            tracking_label=self.objects.settings().tracking.binding_label,
            redaction=self.redaction(),
            key=key,
            path=path,
            manifest=manifest,
            foreign_mark=foreign_mark(found, self.objects.settings().tracking),
            owned=_below(key, parents),
        )

    def check_permitted(self, found: TaskObject, keys: Iterable[ResourceKey]) -> None:
        """Raise TaskFailedError where project or policy deny a write of one of the objects."""
        listed = tuple(keys)
        project = self.comparisons.apps.project(found.app.spec.project)
        held = {
            **denials(found.app, project, listed, found.session.registered),
            **self.objects.governance.control_plane_denials(found.app, listed),
        }
        if held:
            raise TaskFailedError("not_allowed", f"nothing was changed: {named(held)}")

    def check_edit(self, found: TaskObject) -> None:
        """Raise TaskFailedError where the object may not get content that no commit has."""
        if problem := self.objects.governance.policy().edit_problem():
            raise TaskFailedError("not_allowed", f"{found.key} was not edited: {problem}")
        self.check_permitted(found, (found.key,))

    def check_action(self, found: TaskObject, created: Iterable[ResourceKey]) -> None:
        """Raise TaskFailedError where the action may not change the object or create others."""
        self.check_permitted(found, (found.key, *created))
        if not is_ours(found.key):
            return
        kind, subject = found.key.kind, f"{found.key.namespace}/{found.key.name}"
        project = access.text(found.manifest, "spec", "project") or DEFAULT_PROJECT.metadata.name
        if kind != APPLICATION.name:
            problem = f"{kind} {subject} is changed by its own page or command, and by no action"
        elif project != found.app.spec.project:
            problem = (
                f"Application {subject} is of project {project}, and {found.app.key}, which "
                f"deploys it, of {found.app.spec.project}: change it on its own page"
            )
        else:
            problem = self.writer.places.problem(found.key.namespace, project)
        if problem:
            raise TaskFailedError("not_allowed", problem)
        self.writer.check_known(found.manifest)
        self.writer.check_objects(kind, found.key.namespace, found.key.name)

    def check_deletion(self, found: TaskObject) -> None:
        """Raise TaskFailedError where the object may not be deleted.

        Applications and AppProjects have a task of their own, with checks of what goes with them.
        An orphan with a mark is somebody's: this agent does not see what others deploy.
        """
        self.check_permitted(found, (found.key,))
        if found.orphaned and found.foreign_mark:
            text = (
                f"nothing was deleted: {found.key} carries the {found.foreign_mark}, which may be"
                " of another agent or of Argo CD; delete it there, or, where that application is"
                " gone, remove the mark with kubectl and repeat"
            )
            raise TaskFailedError("not_allowed", text)
        ours = next(filter(is_ours, (found.key, *found.owned)), None)
        if ours is None:
            return
        verb = "gitops app delete" if ours.kind == APPLICATION.name else "its own command"
        text = f"{ours.kind} {ours.name} is deleted by its own page or {verb}"
        what = "and not as a live object" if ours == found.key else f"and goes with {found.key}"
        raise TaskFailedError("not_allowed", f"nothing was deleted: {text}, {what}")

    async def pair(self, found: TaskObject) -> ComparedPair | None:
        """Find the object beside what Git has of it; None where it is not of Git, or not rendered.

        Raises UnavailableError and DestinationUnknownError.
        """
        comparison = await self.comparisons.read(found.app)
        pairs = comparison.pairs if comparison is not None else ()
        return next((one for one in pairs if one.key == found.key), None)


def _key(args: ObjectArguments) -> ResourceKey:
    return ResourceKey(args.group, args.kind, args.namespace, args.name)


def _metadata(manifest: Manifest) -> dict[str, object]:
    written = access.mapping(manifest, "metadata")
    return {name: value for name, value in written.items() if name != "managedFields"}


def _below(
    root: ResourceKey, parents: dict[ResourceKey, tuple[ResourceKey, ...]]
) -> Sequence[ResourceKey]:
    """The nodes below one; each comes after its parents."""
    found: dict[ResourceKey, None] = {root: None}
    for key, owners in parents.items():
        if any(one in found for one in owners):
            found[key] = None
    return tuple(found)[1:]
