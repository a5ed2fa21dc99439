"""The desired objects as the server would give them back. Pure.

`normalised` changes only what is certain for every cluster: what an author cannot decide is
dropped, a Secret's `stringData` becomes `data`, labels and annotations become text. Idempotent; its
input stays. `sent` is for applying.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from handlers.manifest.access import LAST_APPLIED, Manifest, get, is_secret, kind, mapping, text
from handlers.manifest.kinds import GroupKind

SERVER_METADATA = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
IDENTITY = frozenset({"generateName", "name", "namespace"})
_CLUSTER_ROLE = GroupKind("rbac.authorization.k8s.io", "ClusterRole")


def normalise(desired: Manifest) -> dict[str, Any]:
    shown = {key: value for key, value in desired.items() if key != "status" and value is not None}
    shown["metadata"] = _metadata(mapping(desired, "metadata"))
    if is_secret(desired):
        return encode_string_data(shown)
    return without_aggregated_rules(shown)


def encode_string_data(secret: Manifest) -> dict[str, Any]:
    """A Secret with `stringData` merged into `data`, as the server does on writing."""
    written = mapping(secret, "data")
    data = {key: _canonical_base64(value) for key, value in written.items()}
    for key, value in mapping(secret, "stringData").items():
        data[key] = b64encode(_as_text(value).encode()).decode()
    rest = {key: value for key, value in secret.items() if key not in ("data", "stringData")}
    return {**rest, "data": data} if data else rest


def sent(desired: Manifest) -> Manifest:
    """As it is applied: keys under `stringData` could not be taken away again."""
    return encode_string_data(desired) if is_secret(desired) else desired


def without_aggregated_rules(manifest: Manifest) -> dict[str, Any]:
    """An aggregated ClusterRole's rules are written by a controller, whatever Git says."""
    aggregated = kind(manifest) == "ClusterRole" and manifest.get("aggregationRule")
    if not aggregated or GroupKind.of(manifest) != _CLUSTER_ROLE:
        return dict(manifest)
    return {key: value for key, value in manifest.items() if key != "rules"}


def _metadata(written: Manifest) -> dict[str, Any]:
    """Identity stays: only the comparison leaves it out."""
    metadata = {
        key: value
        for key, value in written.items()
        if key not in SERVER_METADATA and value is not None
    }
    for field in ("labels", "annotations"):
        metadata.pop(field, None)
        words = _words(mapping(written, field))
        if words:
            metadata[field] = words
    return metadata


def _words(written: Manifest) -> dict[str, str]:
    return {
        key: _as_text(value)
        for key, value in written.items()
        if value is not None and key != LAST_APPLIED
    }


def with_assigned_address(service: dict[str, Any], live: Manifest) -> dict[str, Any]:
    """Charts write `clusterIP: ""`, which means: whichever the server has given."""
    address = text(live, "spec", "clusterIP")
    if kind(service) != "Service" or get(service, "spec", "clusterIP") != "" or not address:
        return service
    return {**service, "spec": {**service["spec"], "clusterIP": address}}


def _canonical_base64(value: object) -> str:
    """Without line breaks; what is no base64 stays for the server to refuse."""
    written = _as_text(value)
    try:
        return b64encode(b64decode("".join(written.split()), validate=True)).decode()
    except (binascii.Error, ValueError):
        return written


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, Mapping) else str(value)
