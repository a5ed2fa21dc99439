"""What an evaluation of sources gives: their objects, with the records to keep them under."""

from __future__ import annotations

import msgspec

from handlers.manifest.manifest_assembly import Written
from handlers.ports.render_record import RenderRecord, SourceRecord


class EvaluatedSource(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of one source, with the record under which they may be kept."""

    record: SourceRecord
    written: tuple[Written, ...] = ()
    content: bytes = b""
    """To be kept under the digest of the record; empty for what is kept already."""


class RenderEvaluation(msgspec.Struct, frozen=True):
    """The content of an artifact, and the record under which it may be kept."""

    record: RenderRecord
    content: bytes
    parts: tuple[bytes, ...] = ()
    """The contents of its sources, of several, that were evaluated."""
