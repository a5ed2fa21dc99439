"""Digests let agent and service compare their states cheaply.

A kind's objects are put into 256 buckets by the hash of their identity; a bucket's hash is that of
its sorted members (subject, uid, hash), a root that of its buckets. Both sides use this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bus.link.frames import BucketMember

BUCKETS = 256
VOLATILE = frozenset({"reconciledAt", "lastTransitionTime", "resourceVersion", "managedFields"})


def content_hash(body: Mapping[str, Any]) -> str:
    """Of what matters: keys in order, volatile fields left out wherever they stand."""
    plain = msgspec.json.encode(_settled(body), order="deterministic")
    return hashlib.sha256(plain).hexdigest()


def edit_version(
    spec: Mapping[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str]
) -> str:
    """Digest of what people edit of an object; a change of its status leaves it equal."""
    return content_hash({"spec": spec, "labels": labels, "annotations": annotations})


def bucket_of(subject: str) -> int:
    return hashlib.sha256(subject.encode()).digest()[0]


def in_buckets(members: Iterable[BucketMember]) -> Mapping[int, Sequence[BucketMember]]:
    found: dict[int, list[BucketMember]] = {}
    for member in sorted(members, key=lambda it: it.subject):
        found.setdefault(bucket_of(member.subject), []).append(member)
    return found


def bucket_hash(members: Iterable[BucketMember]) -> str:
    """Members in order of their subjects; empty for no members."""
    lines = [f"{it.subject}\0{it.uid}\0{it.hash}\n" for it in members]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def root_of(buckets: Mapping[int, str]) -> str:
    lines = [f"{number}:{value}\n" for number, value in sorted(buckets.items()) if value]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def root_of_members(members: Iterable[BucketMember]) -> str:
    parts = in_buckets(members)
    return root_of({number: bucket_hash(part) for number, part in parts.items()})


def _settled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _settled(item) for key, item in value.items() if key not in VOLATILE}
    if isinstance(value, list | tuple):
        return [_settled(item) for item in value]
    return value
