"""The base of every frame: camelCase JSON, unknown fields ignored, defaults left out."""

from __future__ import annotations

import msgspec


class WireValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A part of a frame."""


class Frame(WireValue, frozen=True, kw_only=True, tag_field="frame"):
    """One message of the connection; `frame` on the wire names its type."""
