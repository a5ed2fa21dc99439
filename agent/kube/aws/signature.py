"""Signature Version 4 of AWS for a URL that carries its own signature. Pure.

AWS' SDK would be 15 MB for the one request that a login to EKS is made of. The rules are those of
"Create a signed AWS API request" in AWS' IAM user guide; its published examples are the tests.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import quote

_ALGORITHM = "AWS4-HMAC-SHA256"
EMPTY_PAYLOAD = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCredentials:
    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    until: datetime | None = None
    """When they expire; None where nobody says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningScope:
    """What a signature is good for, and from when on."""

    region: str
    service: str
    signed_at: datetime

    @property
    def timestamp(self) -> str:
        return self.signed_at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")

    def __str__(self) -> str:
        return f"{self.timestamp[:8]}/{self.region}/{self.service}/aws4_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsRequest:
    """A GET. `headers`, with lower-case names, are signed and have to be sent; `host` is one."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: str = "/"
    payload: str = EMPTY_PAYLOAD

    def canonical(self) -> str:
        """Write the request in the one form that both sides sign."""
        names = sorted(self.headers)
        lines = [f"{name}:{self.headers[name].strip()}" for name in names]
        parts = ["GET", self.path, encoded(self.query), *lines, "", ";".join(names), self.payload]
        return "\n".join(parts)


def presigned_query(
    request: AwsRequest, credentials: AwsCredentials, scope: SigningScope, *, seconds: int
) -> str:
    """Make the query of the request that AWS takes as signed for `seconds`."""
    query = {
        **request.query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": scope.timestamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": ";".join(sorted(request.headers)),
    }
    if credentials.session_token:
        query["X-Amz-Security-Token"] = credentials.session_token
    signed = replace(request, query=query)
    proof = signature(signed.canonical(), credentials.secret_key, scope)
    return f"{encoded(query)}&X-Amz-Signature={proof}"


def signature(request: str, secret_key: str, scope: SigningScope) -> str:
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join([_ALGORITHM, scope.timestamp, str(scope), digest])
    key = f"AWS4{secret_key}".encode()
    for part in str(scope).split("/"):
        key = _hmac(key, part)
    return _hmac(key, text).hex()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def encoded(query: Mapping[str, str]) -> str:
    """Encode a query as AWS does: sorted, with everything but unreserved characters escaped."""
    pairs = sorted((quote(name, safe="-_.~"), quote(it, safe="-_.~")) for name, it in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)
