"""KubeRequest: one request to an API server, and what an observer is told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

JSON = "application/json"
Query = Mapping[str, str]
Observer = Callable[["RequestSeen"], None]


class RequestSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One finished request, for metrics. `code` is 0 without an answer."""

    verb: str
    path: str
    code: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeRequest:
    verb: str
    """The verb in Kubernetes' terms: get, list, watch, patch, create, update, delete."""
    method: str
    path: str
    query: Query
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
