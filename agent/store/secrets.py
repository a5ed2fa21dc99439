"""The Secrets of the control namespace that Argo CD's formats give a meaning: kept decoded, never shown.

Only those with the label `argocd.argoproj.io/secret-type` and `argocd-secret` itself are kept; every
other Secret of the namespace is forgotten as soon as it is read.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

import msgspec
import structlog

from handlers.application.application import Metadata

log = structlog.get_logger()

SECRET_TYPE_LABEL = "argocd.argoproj.io/secret-type"  # noqa: S105  the name of a label
SETTINGS_SECRET = "argocd-secret"  # noqa: S105  the name of an object


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret's meaning: its type label and its decoded values. Its repr shows no value."""

    namespace: str
    name: str
    type: str
    """`repository`, `repo-creds`, ...; empty for `argocd-secret`."""
    data: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Secret({self.namespace}/{self.name}, type={self.type!r}, keys={sorted(self.data)})"


class Secrets:
    def __init__(self) -> None:
        self._secrets: dict[str, Secret] = {}

    def typed(self, *types: str) -> Sequence[Secret]:
        """All of these types, by name: the order never depends on who came first."""
        return [it for _, it in sorted(self._secrets.items()) if it.type in types]

    def setting(self, key: str) -> str:
        """One value of `argocd-secret`, empty where there is none."""
        found = self._secrets.get(SETTINGS_SECRET)
        return found.data.get(key, "") if found else ""

    def put(self, raw: bytes) -> None:
        secret = msgspec.json.decode(raw, type=_RawSecret)
        kind = secret.metadata.labels.get(SECRET_TYPE_LABEL, "")
        if kind or secret.metadata.name == SETTINGS_SECRET:
            self._secrets[secret.metadata.name] = _decoded(secret, kind)
        else:
            self.remove(secret.metadata.name)

    def remove(self, name: str) -> None:
        self._secrets.pop(name, None)

    def keep_only(self, names: set[str]) -> None:
        for name in set(self._secrets) - names:
            del self._secrets[name]


class _RawSecret(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


def _decoded(secret: _RawSecret, kind: str) -> Secret:
    values: dict[str, str] = {}
    for key, encoded in (secret.data or {}).items():
        try:
            values[key] = base64.b64decode(encoded).decode()
        except (binascii.Error, UnicodeDecodeError):
            log.warning("value of a Secret is no text", secret=secret.metadata.name, key=key)
    metadata = secret.metadata
    return Secret(namespace=metadata.namespace, name=metadata.name, type=kind, data=values)
