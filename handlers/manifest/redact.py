"""Taking secrets out of what leaves: objects and texts, for logs, events, status and the screen.

As in Argo CD each value of a Secret becomes a run of `+`; different values of one key get runs of
different length and equal values equal ones, so that a masked diff still says *that* something
changed. Nothing here can be turned back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from handlers.manifest import access
from handlers.manifest.access import Manifest, annotation, group, kind, mapping

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

_MASK = "++++++++"
_LONGER = "++++"
_USER_INFO = re.compile(r"(?<=://)[^/\s]+@")
_FIELDS = ("data", "stringData")


def redact(manifest: Manifest, sensitive_annotations: Iterable[str] = ()) -> Manifest:
    return redact_together([manifest], sensitive_annotations)[0]


def redact_together(
    manifests: Sequence[Manifest], sensitive_annotations: Iterable[str] = ()
) -> list[Manifest]:
    """Several states of one object (desired, live) with masks that can be compared."""
    hidden = frozenset(sensitive_annotations)
    masks = _Masks()
    return [_redact(manifest, hidden, masks) for manifest in manifests]


def redact_text(text: str) -> str:
    """Without the user and password of any URL in `text`."""
    return _USER_INFO.sub("", text)


def is_secret(manifest: Manifest) -> bool:
    return kind(manifest) == "Secret" and group(manifest) == ""


class _Masks:
    """Remembers which value of which key got which mask, during one call."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, str]] = {}

    def of(self, key: str, value: object) -> str:
        seen = self._seen.setdefault(key, {})
        return seen.setdefault(repr(value), _MASK + _LONGER * len(seen))


def _redact(manifest: Manifest, hidden: frozenset[str], masks: _Masks) -> Manifest:
    secret = is_secret(manifest)
    if not secret and hidden.isdisjoint(access.annotations(manifest)):
        return manifest
    masked: dict[str, Any] = dict(manifest)
    for field in _FIELDS if secret else ():
        if field in masked:
            masked[field] = _mask_values(masked[field], masks)
    notes = dict(access.annotations(manifest))
    for key in hidden & notes.keys():
        notes[key] = masks.of(key, notes[key])
    if secret and LAST_APPLIED in notes:
        notes[LAST_APPLIED] = _mask_json(annotation(manifest, LAST_APPLIED), hidden, masks)
    if notes:
        masked["metadata"] = {**mapping(manifest, "metadata"), "annotations": notes}
    return masked


def _mask_values(values: object, masks: _Masks) -> object:
    if not isinstance(values, Mapping):
        return None if values is None else _MASK
    return {key: masks.of(key, value) for key, value in values.items()}


def _mask_json(written: str, hidden: frozenset[str], masks: _Masks) -> str:
    """The last applied object holds the same values; what cannot be read is masked whole."""
    try:
        applied = msgspec.json.decode(written)
    except msgspec.DecodeError:
        return _MASK
    if not isinstance(applied, dict):
        return _MASK
    applied = {**applied, "apiVersion": "v1", "kind": "Secret"}
    return msgspec.json.encode(_redact(applied, hidden, masks)).decode()
