"""Forgotten: up to where this outbox was acknowledged and purged, remembered past a restart.

A service that was restored from an old copy asks for what is not here any more. States are found
again by their hashes; facts are not, and the least is to say how many sequences are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

from bus.jetstream.kv import Bucket


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Both methods raise CarrierError."""

    bucket: Bucket

    async def note(self, epoch: str, through: int) -> None:
        await self.bucket.put(epoch, str(through).encode())

    async def through(self, epoch: str) -> int:
        raw = await self.bucket.get(epoch)
        return int(raw) if raw and raw.isdigit() else 0
