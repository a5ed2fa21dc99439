"""ObjectSender: sends one object as its sync options ask: apply, replace, or delete and create.

    live             Replace   Force   what is sent
    none             yes       any     create
    none             no        any     apply
    there            no        no      apply
    there            no        yes     apply; where that cannot be: delete, create
    there            yes       no      replace
    there            yes       yes     delete without a grace period, create
    CRD, Namespace   any       any     never deleted: apply or replace

Every apply is server-side: first without force, so that another manager of its fields is seen and
named, then with force, because Git decides. Where the index knows that a manager has taken fields
from us, he is named without the refusal, and the first apply is forced. Nothing is deleted before
the server has been asked, by a dry run, whether it takes the manifest as a new object; where it
refuses that object all the same, the former one is put back.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey
from handlers.comparison.normalised_objects import SERVER_METADATA
from handlers.comparison.taken_fields import taken_fields
from handlers.manifest import access
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind
from handlers.manifest.options import SyncOptions
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    ClusterWriter,
    LiveObject,
    LiveState,
    Manifest,
)

_CONFLICT = 409
_UNPROCESSABLE = 422
_NEVER_DELETED = frozenset({CUSTOM_RESOURCE_DEFINITION, GroupKind("", "Namespace")})
_TAKEN_BY_ITSELF = ("already allocated",)
"""Words of a refusal that the deletion itself removes: an address or port of a Service."""
_LONGEST_PREFIX = 50
_NAMED, _PATH = 5, 120


class ObjectToSend(msgspec.Struct, frozen=True, kw_only=True):
    key: ResourceKey
    version: str
    manifest: Manifest
    options: SyncOptions
    dry_run: bool = False
    yields: bool = False
    """Neither takes fields of other managers over nor replaces the object."""

    @property
    def how(self) -> ApplyOptions:
        return ApplyOptions(
            dry_run=self.dry_run,
            force_conflicts=False,
            replace=self.options.replace and not self.yields,
            validate=self.options.validate,
            take_over=self.options.takes_over,
            earlier_manager=self.options.earlier_manager,
        )

    @property
    def may_be_deleted(self) -> bool:
        kind = GroupKind(self.key.group, self.key.kind)
        return self.options.force and kind not in _NEVER_DELETED


class Sending(msgspec.Struct, frozen=True):
    """The outcome: a remark for the result, or that the former object is not gone yet."""

    remark: str = ""
    is_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSender:
    cluster: ClusterWriter
    live: LiveState

    async def send(self, it: ObjectToSend) -> Sending:
        """Raises ApplyRefusedError and ClusterUnreachableError."""
        live = self.live.get(it.key)
        if live is None or not it.may_be_deleted:
            return Sending(await self._apply(it))
        if live.deleting:
            return Sending(is_pending=True)
        if it.options.replace:
            return await self._recreate(it, live, "")
        try:
            return Sending(await self._apply(it))
        except ApplyRefusedError as error:
            if error.code not in (_CONFLICT, _UNPROCESSABLE) or not error.permanent:
                raise
            return await self._recreate(it, live, error.message)

    async def _apply(self, it: ObjectToSend) -> str:
        if taken := self._taken(it):
            await self.cluster.apply(it.manifest, replace(it.how, force_conflicts=True))
            return taken
        try:
            await self.cluster.apply(it.manifest, it.how)
        except ApplyRefusedError as error:
            # A conflict about a replace is about the resource version: force would not help.
            if error.code != _CONFLICT or not error.permanent or it.how.replace or it.yields:
                raise
            await self.cluster.apply(it.manifest, replace(it.how, force_conflicts=True))
            return f", took fields over: {error.message}"
        return ""

    def _taken(self, it: ObjectToSend) -> str:
        """Say whose fields a forced apply takes over; empty where that is not known for certain."""
        live = self.live.get(it.key)
        if live is None or it.how.replace or it.yields or it.may_be_deleted:
            return ""
        fields = ", ".join(path[:_PATH] for path in taken_fields(it.manifest, live)[:_NAMED])
        return f', took fields over: "{live.written_by}" wrote {fields}' if fields else ""

    async def _recreate(self, it: ObjectToSend, live: LiveObject, why: str) -> Sending:
        await self._check_acceptable(it, why)
        remark = f", deleted and created anew: {why}" if why else ", deleted and created anew"
        if it.dry_run:
            return Sending(remark)
        former = await self.cluster.read(live, it.version)
        await self.cluster.delete(former, propagation="background", at_once=it.options.replace)
        if self.live.get(it.key) is not None:
            return Sending(is_pending=True)
        try:
            await self._apply(it)
        except ApplyRefusedError as error:
            raise await self._restored(former, error) from error
        return Sending(remark)

    async def _check_acceptable(self, it: ObjectToSend, why: str) -> None:
        """Raise where the server does not take the manifest as a new object, of another name."""
        metadata = {k: v for k, v in access.mapping(it.manifest, "metadata").items() if k != "name"}
        metadata["generateName"] = f"{it.key.name[:_LONGEST_PREFIX]}-"
        try:
            how = replace(it.how, dry_run=True)
            await self.cluster.apply({**it.manifest, "metadata": metadata}, how)
        except ApplyRefusedError as error:
            if any(words in error.message for words in _TAKEN_BY_ITSELF):
                return
            text = (
                f"{why or error.message}; Force=true deleted nothing, because the server does not"
                f" accept the object as a new one either: {error.message}"
            )
            raise ApplyRefusedError(text, code=error.code, permanent=error.permanent) from error

    async def _restored(self, former: LiveObject, error: ApplyRefusedError) -> ApplyRefusedError:
        """Put the former object back; return the error to raise."""
        text = f"deleted to be created anew, but refused then: {error.message}"
        try:
            await self.cluster.apply(_without_identity(former.manifest), ApplyOptions(replace=True))
        except ApplyRefusedError as other:
            text = f"{text}; the former object could not be put back: {other.message}"
        else:
            text = f"{text}; the former object was put back"
        return ApplyRefusedError(text, code=error.code, permanent=error.permanent)


def _without_identity(manifest: Manifest) -> Manifest:
    """Drop what the server has given to the object that is gone."""
    metadata = access.mapping(manifest, "metadata")
    kept = {name: value for name, value in metadata.items() if name not in SERVER_METADATA}
    return {**{k: v for k, v in manifest.items() if k != "status"}, "metadata": kept}
