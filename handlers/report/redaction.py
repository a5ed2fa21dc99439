"""Redaction: the one gate through which everything goes that leaves the house.

Fields that may hold a secret are masked whole (values of Secrets, environment variables, Helm and
other parameters, annotations that are not of our vocabulary, data of ConfigMaps that nobody
allowed); every text is searched for values of known Secrets and for what looks like a credential.
A mask holds a fingerprint, salted by the agent, so that a reader sees that something changed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.redact import LAST_APPLIED, is_secret
from handlers.report.known import KnownSecrets
from handlers.report.patterns import is_sensitive, masked
from handlers.tell.note import ANNOTATION as NOTE

_FINGERPRINT = 8
_MASKED = re.compile(r"\(hidden(:[0-9a-f]{8})?\)")
_DEEPEST = 60
_LISTS_OF_VALUES = frozenset({"env", "parameters", "extVars", "tlas", "fileParameters"})
_VALUES = frozenset({"values", "valuesObject", "stringData", "binaryData"})
_OPEN_ANNOTATIONS = (
    "argocd.argoproj.io/",
    "app.kubernetes.io/",
    "deployment.kubernetes.io/revision",
    "helm.sh/",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    salt: bytes
    known: KnownSecrets
    config_maps: tuple[str, ...] = field(default=())
    """Patterns of `namespace/name` whose data may be shown."""

    def text(self, text: str) -> str:
        return masked(self.known.mask(text))

    def hidden(self, value: object) -> str:
        """A mask that differs where the values differ; what is masked stays as it is."""
        if isinstance(value, str) and _MASKED.fullmatch(value):
            return value
        plain = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
        digest = hmac.new(self.salt, plain, hashlib.sha256).hexdigest()
        return f"(hidden:{digest[:_FINGERPRINT]})"

    def value(self, value: Any, depth: int = 0) -> Any:
        """Any JSON value; names of fields decide which are masked whole, objects are known."""
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            if "kind" in value and "apiVersion" in value:
                return self.manifest(value, depth)
            return {str(name): self._member(str(name), it, depth) for name, it in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value]
        return value

    def manifest(self, manifest: Manifest, depth: int = 0) -> dict[str, Any]:
        """A Kubernetes object of any kind, as it may be shown."""
        shown: dict[str, Any] = {}
        for name, value in manifest.items():
            if name in ("data", "stringData", "binaryData"):
                shown[name] = self._data(manifest, value)
            elif name == "metadata":
                shown[name] = self._metadata(manifest)
            else:
                shown[name] = self._member(name, value, depth)
        return shown

    def annotations(self, annotations: Mapping[str, str]) -> dict[str, str]:
        return {
            name: self.text(value) if name.startswith(_OPEN_ANNOTATIONS) else self.hidden(value)
            for name, value in annotations.items()
            if name not in (LAST_APPLIED, NOTE)  # what a note says is told as facts
        }

    def _metadata(self, manifest: Manifest) -> dict[str, Any]:
        metadata = access.mapping(manifest, "metadata")
        shown: dict[str, Any] = {
            name: value
            for name, value in metadata.items()
            if name not in ("annotations", "managedFields")
        }
        if "annotations" in metadata:
            shown["annotations"] = self.annotations(access.annotations(manifest))
        return shown

    def _data(self, manifest: Manifest, data: object) -> Any:
        if not isinstance(data, Mapping):
            return None if data is None else self.hidden(data)
        if not is_secret(manifest) and self._is_open(manifest):
            return {name: self.value(value) for name, value in data.items()}
        return {name: self.hidden(value) for name, value in data.items()}

    def _is_open(self, manifest: Manifest) -> bool:
        name = f"{access.namespace(manifest)}/{access.name(manifest)}"
        if access.kind(manifest) != "ConfigMap":
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.config_maps)

    def _member(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            whole = is_sensitive(name) or (name in _VALUES and bool(value))
            return self.hidden(value) if whole and value else self.text(value)
        if name in _VALUES and isinstance(value, Mapping):
            return self._leaves(value, depth + 1)
        if name in _LISTS_OF_VALUES and isinstance(value, list | tuple):
            return [self._named(item, depth + 1) for item in value]
        if name == "annotations" and isinstance(value, Mapping):
            return self.annotations({str(key): str(item) for key, item in value.items()})
        return self.value(value, depth + 1)

    def _named(self, entry: Any, depth: int) -> Any:
        """`{name, value}`: the name stays, and so does a reference (`valueFrom`)."""
        if not isinstance(entry, Mapping):
            return self.hidden(entry)
        plain = ("name", "valueFrom", "forceString", "code", "path")
        return {
            str(name): self.value(value, depth) if name in plain else self._leaves(value, depth)
            for name, value in entry.items()
        }

    def _leaves(self, value: Any, depth: int) -> Any:
        """The shape of it, with every scalar but switches and nothing masked."""
        if depth > _DEEPEST:
            return "(too deep)"
        if isinstance(value, Mapping):
            return {str(name): self._leaves(item, depth + 1) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._leaves(item, depth + 1) for item in value]
        return value if value is None or isinstance(value, bool) else self.hidden(value)
