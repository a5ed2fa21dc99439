"""The executors that edit or delete a live object, and preview each change of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from agent.bridge.tasks.live_objects.action_evaluator import ActionEvaluator
from agent.bridge.tasks.live_objects.actions import cut_off, planned
from agent.bridge.tasks.live_objects.object_writer import write_change
from agent.bridge.tasks.live_objects.task_object import TaskObject, TaskObjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.kube.errors import NotFoundError
from bus.link import (
    DeleteObjectArguments,
    EditObjectArguments,
    LinkTask,
    ObjectPreviewArguments,
)
from handlers.actions.action import ActionCall, ActionError, changes_of
from handlers.actions.object_change import LiveObjectChange
from handlers.actions.object_preview import previewed, previewed_deletion
from handlers.control_plane.governance import is_ours
from handlers.ports import ApplyRefusedError
from handlers.report.hidden_values import RevealedValueError, check_edit
from handlers.report.redaction import Redaction
from handlers.report.restored_objects import UnknownMaskError, restored

_PROPAGATIONS = ("foreground", "background", "orphan")
_LARGEST_PATCH = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPreviewExecutor:
    objects: TaskObjects
    evaluator: ActionEvaluator
    redaction: Callable[[], Redaction]

    async def __call__(
        self, task: LinkTask, args: ObjectPreviewArguments, context: TaskContext
    ) -> object:
        """Answer with what the change would do; nothing is written."""
        if (bool(args.action), bool(args.patch), args.delete).count(True) != 1:
            raise TaskFailedError("invalid", "expected one of action, patch and delete")
        if args.delete:
            found = await self.objects.find_with_orphans(task, args, context)
            keys = (found.key, *found.owned)
            self.objects.check_deletion(found)
            pair = await self.objects.pair(found)
            names = [str(key) for key in keys]
            return previewed_deletion(
                names, spec=found.app.spec, pair=pair, orphaned=found.orphaned
            )
        found = await self.objects.find(task, args, context)
        change = await self._change(found, args)
        self.objects.check_action(found, change.created_keys)
        return previewed(
            found.manifest,
            change,
            spec=found.app.spec,
            pair=await self.objects.pair(found),
            redaction=self.redaction(),
        )

    async def _change(self, found: TaskObject, args: ObjectPreviewArguments) -> LiveObjectChange:
        if args.patch:
            self.objects.check_edit(found)
            return edited(found, args.patch, self.redaction())
        call = ActionCall(now=datetime.now(UTC), params=args.params)
        return await planned(found, args.action, call, self.evaluator)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditObjectExecutor:
    objects: TaskObjects
    redaction: Callable[[], Redaction]

    async def __call__(
        self, task: LinkTask, args: EditObjectArguments, context: TaskContext
    ) -> object:
        found = await self.objects.find(task, args, context)
        self.objects.check_edit(found)
        if not context.repeated:
            found.check_unchanged(args.uid, args.resource_version)
        change = edited(found, args.patch, self.redaction())
        if context.repeated and change:
            raise cut_off(found)
        await write_change(found, change)
        return {"changed": bool(change)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteObjectExecutor:
    objects: TaskObjects

    async def __call__(
        self, task: LinkTask, args: DeleteObjectArguments, context: TaskContext
    ) -> object:
        """Delete exactly the object that the requester saw; one that is gone is no error."""
        if args.propagation not in _PROPAGATIONS:
            text = f"propagation is {args.propagation!r}; expected {', '.join(_PROPAGATIONS)}"
            raise TaskFailedError("invalid", text)
        if not args.uid:
            text = (
                f"the deletion of {args.kind} {args.name} names no uid, so another object of that"
                " name could be deleted: expected the uid that the tree shows"
            )
            raise TaskFailedError("invalid", text)
        try:
            found = await self.objects.find_with_orphans(task, args, context)
        except (TaskFailedError, NotFoundError) as error:
            if context.repeated and getattr(error, "code", "") in ("not_found", 404):
                return {"deleted": True}
            raise
        if context.repeated and was_deleted(found, args.uid):
            return {"deleted": True}
        self.objects.check_deletion(found)
        found.check_unchanged(args.uid)
        try:
            await found.client.delete(
                found.path,
                uid=found.uid,
                propagation=args.propagation.capitalize(),
                at_once=args.force,
            )
        except NotFoundError:
            return {"deleted": True}
        except ApplyRefusedError as error:
            raise found.explained(error) from None
        return {"deleted": True}


def was_deleted(found: TaskObject, uid: str) -> bool:
    """Whether a deletion that was cut off is done, and `found` is the successor of its object."""
    return uid != found.uid


def edited(found: TaskObject, patch: Mapping[str, Any], redaction: Redaction) -> LiveObjectChange:
    """Check a merge patch of a person, and put values in place of masks; raises TaskFailedError.

    Applications and AppProjects have tasks of their own, with checks that an edit does not make.
    """
    if is_ours(found.key):
        text = f"{found.key.kind} is changed by its own page or command, and not as a live object"
        raise TaskFailedError("invalid", text)
    if found.key.kind == "Secret":
        text = "a Secret is not edited over the link: its values would pass the control plane"
        raise TaskFailedError("not_allowed", text)
    if "status" in patch:
        raise TaskFailedError("invalid", "the patch changes status, which controllers write")
    if len(msgspec.json.encode(patch)) > _LARGEST_PATCH:
        raise TaskFailedError("invalid", f"the patch is larger than {_LARGEST_PATCH >> 10} KiB")
    try:
        meant = restored(patch, found.manifest, redaction)
        change = found.changed(changes_of(meant))
        check_edit(found.manifest, patch, change.after or found.manifest, redaction)
    except (UnknownMaskError, RevealedValueError, ActionError) as error:
        raise TaskFailedError("invalid", str(error)) from error
    return change
