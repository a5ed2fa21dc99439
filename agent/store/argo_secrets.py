"""ArgoSecrets holds the decoded Secrets of Argo CD's formats in the control namespace.

Only those with the label `argocd.argoproj.io/secret-type`, those labelled as keys that decrypt Git,
and `argocd-secret` itself are kept; every other Secret of the namespace is forgotten as soon as it
is read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec
import structlog

from agent.git.credentials import SECRET_TYPE, Secret
from agent.subscribers import Subscribers
from handlers.application.application import Metadata
from handlers.application.decryption_keys import SECRET_TYPE_LABEL
from handlers.control_plane.governance import is_marked

log = structlog.get_logger()

SETTINGS_SECRET = "argocd-secret"  # noqa: S105  the name of an object


class ArgoSecrets:
    def __init__(self) -> None:
        self.seen = Subscribers[[bytes]]()
        """Called with every Secret of the namespace as it was read."""
        self.indexed = Subscribers[[Secret]]()
        """Called with each Secret of these that is put or removed."""
        self._secrets: dict[str, Secret] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._secrets

    def all(self) -> Sequence[Secret]:
        return tuple(self._secrets.values())

    def setting(self, key: str) -> str:
        """Return a value of `argocd-secret`, empty where it is not set."""
        found = self._secrets.get(SETTINGS_SECRET)
        return found.data.get(key, "") if found else ""

    def put(self, raw: bytes) -> None:
        self.seen.notify(raw)
        metadata = _RAW.decode(raw).metadata
        labels = metadata.labels.keys() & {SECRET_TYPE, SECRET_TYPE_LABEL}
        if labels or metadata.name == SETTINGS_SECRET:
            self._secrets[metadata.name] = kept = read_secret(raw)
            self.indexed.notify(kept)
        else:
            self.remove(metadata.name)

    def remove(self, name: str) -> None:
        removed = self._secrets.pop(name, None)
        if removed is not None:
            self.indexed.notify(removed)

    def keep_only(self, names: set[str]) -> None:
        for name in set(self._secrets) - names:
            self.remove(name)


class _RawSecret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_RAW = msgspec.json.Decoder(_RawSecret)


def read_secret(raw: bytes) -> Secret:
    """Read a Secret with its values decoded; what is no text is left out."""
    secret = _RAW.decode(raw)
    values: dict[str, str] = {}
    metadata = secret.metadata
    for key, encoded in (secret.data or {}).items():
        try:
            values[key] = base64.b64decode(encoded).decode()
        except (binascii.Error, UnicodeDecodeError):
            log.warning("value of a Secret is no text", secret=metadata.name, key=key)
    return Secret(
        namespace=metadata.namespace,
        name=metadata.name,
        labels=metadata.labels,
        data=values,
        governed=is_marked(metadata),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )
