"""Learning: every Secret that a watch brings makes its values known to the redaction."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from agent.bridge.keeping import SECRET
from agent.git.credentials import SECRET_TYPE
from handlers.application.application import Metadata
from handlers.report.known import KnownSecrets, pieces_of_secret


class _Secret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_SECRET = msgspec.json.Decoder(_Secret, strict=False)


@dataclass(frozen=True, slots=True)
class Learning:
    known: KnownSecrets

    def __call__(self, raw: bytes) -> None:
        try:
            secret = _SECRET.decode(raw)
        except msgspec.MsgspecError:
            return
        ours = SECRET_TYPE in secret.metadata.labels or secret.metadata.name == SECRET
        self.known.learn(pieces_of_secret(secret.data or {}, ours=ours))
