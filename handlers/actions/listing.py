"""The actions of an object, by the catalogue of its kind or by a script of discovery. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.actions.catalogue import actions_of
from handlers.manifest.access import Manifest, group, kind


class ActionOffer(msgspec.Struct, frozen=True, kw_only=True):
    """An action of one object; a disabled one makes no sense now, and can be run all the same."""

    name: str
    disabled: bool = False
    params: tuple[str, ...] = ()


def offers(manifest: Manifest) -> tuple[ActionOffer, ...]:
    """The actions of the object by the catalogue of its kind."""
    return tuple(
        ActionOffer(name=one.name, disabled=not one.enabled(manifest), params=one.params)
        for one in actions_of(group(manifest), kind(manifest))
    )


class DiscoveryError(Exception):
    """A script of discovery returned something else than a table of actions."""


class _Param(msgspec.Struct, frozen=True):
    name: str


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    disabled: bool = False
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
        ActionOffer(name=name, disabled=one.disabled, params=one.names)
        for name, value in sorted(found.items())
        for one in (value if isinstance(value, _Found) else plain,)
    )
