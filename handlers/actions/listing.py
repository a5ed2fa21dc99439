"""The actions of an object, by the catalogue of its kind or by a script of discovery. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from handlers.actions.action import ActionCall, ActionChangeKind, ActionError, ResourceAction
from handlers.actions.catalogue import actions_of
from handlers.application.patch import merge_patch, patched
from handlers.manifest.access import Manifest, group, kind


class ActionOffer(msgspec.Struct, frozen=True, kw_only=True):
    """An action of one object; a disabled one makes no sense now, and can be run all the same."""

    name: str
    disabled: bool = False
    params: tuple[str, ...] = ()
    title: str = ""
    """What a script of discovery calls it, where it does."""
    why: str = ""
    """Why it is disabled."""


def offers(manifest: Manifest) -> tuple[ActionOffer, ...]:
    """The actions of the object by the catalogue of its kind."""
    return tuple(
        ActionOffer(name=one.name, params=one.params)
        if one.enabled(manifest)
        else ActionOffer(
            name=one.name, disabled=True, params=one.params, why=_why_disabled(one, manifest)
        )
        for one in actions_of(group(manifest), kind(manifest))
    )


def _why_disabled(action: ResourceAction, manifest: Manifest) -> str:
    """Tell what is so already from what the state of the object does not allow now."""
    if not action.params and not _has_effect(action, manifest):
        return f"{action.name} would change nothing: the {kind(manifest)} is in this state already"
    return f"the {kind(manifest)} is in a state in which {action.name} makes no sense"


def _has_effect(action: ResourceAction, manifest: Manifest) -> bool:
    try:
        changes = action.changes(manifest, ActionCall(now=_ANY_TIME))
    except ActionError:
        return True
    return any(
        one.kind is ActionChangeKind.CREATE
        or merge_patch(manifest, patched(manifest, one.content)) is not None
        for one in changes
    )


_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def joined_offers(
    own: tuple[ActionOffer, ...], built_in: tuple[ActionOffer, ...]
) -> tuple[ActionOffer, ...]:
    """Join the actions of `argocd-cm` with built-in ones; of two with one name its own counts."""
    by_name = {one.name: one for one in (*built_in, *own)}
    return tuple(by_name[name] for name in sorted(by_name))


class DiscoveryError(Exception):
    """A script of discovery returned something else than a table of actions."""


DISABLED_BY_SCRIPT = "the script of discovery says so for the object as it is now"


class _Param(msgspec.Struct, frozen=True):
    name: str


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    disabled: bool = False
    display_name: str = msgspec.field(name="displayName", default="")
    params: list[_Param] | dict[str, Any] = []

    @property
    def names(self) -> tuple[str, ...]:
        listed = self.params if isinstance(self.params, list) else ()
        return tuple(one.name for one in listed)


_ANSWER = msgspec.json.Decoder(dict[str, _Found | list[Any]] | list[Any] | None)


def discovered(answer: bytes) -> tuple[ActionOffer, ...]:
    """Read what `discovery.lua` returned: a table by name, where an empty table is a plain action.

    Lua does not tell an empty list from an empty mapping. Raises DiscoveryError.
    """
    try:
        found = _ANSWER.decode(answer)
    except msgspec.MsgspecError as error:
        raise DiscoveryError(f"expected a table of actions by name: {error}") from error
    if not isinstance(found, dict):
        if found:
            raise DiscoveryError("expected a table of actions by name; the script gave a list")
        return ()
    plain = _Found()
    return tuple(
        ActionOffer(
            name=name,
            disabled=one.disabled,
            params=one.names,
            title=one.display_name,
            why=DISABLED_BY_SCRIPT if one.disabled else "",
        )
        for name, value in sorted(found.items())
        for one in (value if isinstance(value, _Found) else plain,)
    )
