"""ClusterAuth: how the agent introduces itself to a destination cluster, one value for each kind.

`cluster_secret` reads these values from the Secret of a cluster; `connection_of` makes a connection
of them. No value shows a credential in its `repr`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from agent.kube.connection_config import AuthHeaders, KubeConfigError, KubeConnection, plain_tls


class ClusterAuth(Protocol):
    """One kind of credential."""

    def headers(self, server: str) -> AuthHeaders:
        """Return what makes the headers of each request to the server."""
        ...


@dataclass(frozen=True, slots=True)
class NoAuth:
    """No credential but the client certificate, if there is one."""

    def headers(self, server: str) -> AuthHeaders:  # noqa: ARG002  part of the protocol
        return _constant({})


@dataclass(frozen=True, slots=True)
class BearerAuth:
    token: str = field(repr=False)

    def headers(self, server: str) -> AuthHeaders:  # noqa: ARG002  part of the protocol
        return _constant({"Authorization": f"Bearer {self.token}"})


@dataclass(frozen=True, slots=True)
class BasicAuth:
    username: str
    password: str = field(repr=False)

    def headers(self, server: str) -> AuthHeaders:  # noqa: ARG002  part of the protocol
        pair = b64encode(f"{self.username}:{self.password}".encode()).decode()
        return _constant({"Authorization": f"Basic {pair}"})


def _constant(headers: Mapping[str, str]) -> AuthHeaders:
    async def answer() -> Mapping[str, str]:
        return headers

    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTls:
    """The TLS part of a cluster's Secret; certificates and key are PEM."""

    insecure: bool = False
    server_name: str = ""
    authority: str = ""
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


async def connection_of(
    server: str, tls: ClusterTls, auth: ClusterAuth, proxy: str = ""
) -> KubeConnection:
    """Make a connection; raises KubeConfigError, which names the field and quotes no secret."""
    return KubeConnection(
        url=server,
        tls=await asyncio.to_thread(_context, tls) if server.startswith("https") else False,
        headers=auth.headers(server),
        server_name=tls.server_name or None,
        proxy=proxy or None,
    )


def _context(tls: ClusterTls) -> ssl.SSLContext:
    try:
        trust = plain_tls(tls.authority or None)
    except (ssl.SSLError, ValueError) as error:
        text = "config.tlsClientConfig.caData holds no certificate in PEM that can be read"
        raise KubeConfigError(text) from error
    if tls.certificate:
        try:
            with _in_memory(tls.certificate) as certificate, _in_memory(tls.key) as key:
                trust.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise KubeConfigError(
                "config.tlsClientConfig.certData and keyData are no certificate in PEM with its key"
            ) from error
    if tls.insecure:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    """Give the text a path without a file that has a name: `ssl` reads keys from paths only."""
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("pem"), "wb", buffering=0)
    else:
        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  closed below
    with file:
        file.write(text.encode())
        yield f"/dev/fd/{file.fileno()}"
