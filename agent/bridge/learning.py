"""Learning: every Secret that a watch brings makes its values known to the redaction."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import structlog

from agent.bridge.keeping import SECRET
from agent.git.credentials import SECRET_TYPE
from handlers.application.application import Metadata
from handlers.report.known import KnownSecrets, pieces_of_secret

log = structlog.get_logger()


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
        full = self.known.refused > 0
        self.known.learn(pieces_of_secret(secret.data or {}, ours=ours))
        if self.known.refused and not full:
            log.warning("not all values of Secrets are searched for", alarm=self.known.alarm)
