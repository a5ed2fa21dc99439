"""The connection to the API server comes from a kubeconfig or from the pod's service account.

The current context of a shell is never used silently: a kubeconfig is given by path, or the agent
runs in a pod. Reading the files, exec plugins and their renewal are kubernetes_asyncio's;
importing that library costs seconds, so it is imported in a thread, when a connection is opened.
"""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.proxies import proxy_of_environment

_EXEC_TIMEOUT = 60
_LOOK_AT_TOKEN_EVERY = 60.0

AuthHeaders = Callable[[], Awaitable[Mapping[str, str]]]


class KubeConfigError(Exception):
    """No usable configuration of an API server; the message names what was searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeConnection:
    """An address, its trusted certificates, and the credentials (read before every request)."""

    url: str
    tls: ssl.SSLContext | bool
    headers: AuthHeaders
    server_name: str | None = None
    proxy: str | None = None
    """Of HTTP, or with `socks5://` of SOCKS, which the client's connector speaks."""


async def connect(kubeconfig: Path | None = None, context: str = "") -> KubeConnection:
    """Open a connection; without a path, as the pod's service account. Raises KubeConfigError."""
    loaders = await asyncio.to_thread(importlib.import_module, "kubernetes_asyncio.config")
    client = importlib.import_module("kubernetes_asyncio.client")
    settings = client.Configuration()
    refresh = None
    try:
        async with asyncio.timeout(_EXEC_TIMEOUT):
            if kubeconfig is None:
                loaders.load_incluster_config(client_configuration=settings)
            else:
                refresh = await _load_file(loaders, settings, kubeconfig, context)
    except (loaders.ConfigException, OSError, ValueError, TimeoutError) as error:
        raise KubeConfigError(_what_was_wrong(kubeconfig, context, error)) from error
    return KubeConnection(
        url=settings.host,
        tls=await asyncio.to_thread(_tls, settings),
        headers=_Credentials(settings, refresh),
        server_name=settings.tls_server_name,
        proxy=settings.proxy or proxy_of_environment(settings.host),
    )


class _Credentials:
    """The authorization header, renewed by its loader before it expires; one renewal at a time."""

    def __init__(self, settings: Any, refresh: Callable[[], Awaitable[None]] | None) -> None:
        self._settings = settings
        self._refresh = refresh
        self._lock = asyncio.Lock()
        self._looked = float("-inf")

    async def __call__(self) -> Mapping[str, str]:
        now = asyncio.get_running_loop().time()
        if self._refresh is not None and now - self._looked > _LOOK_AT_TOKEN_EVERY:
            await self._renew(self._refresh, now)
        token = await self._settings.get_api_key_with_prefix("BearerToken")
        return {"Authorization": token} if token else {}

    async def _renew(self, refresh: Callable[[], Awaitable[None]], now: float) -> None:
        async with self._lock:
            if now - self._looked > _LOOK_AT_TOKEN_EVERY:
                await refresh()
                self._looked = now


async def _load_file(
    loaders: Any, settings: Any, kubeconfig: Path, context: str
) -> Callable[[], Awaitable[None]]:
    """Set `settings` from the file; the returned function does so again and runs plugins."""
    if not await asyncio.to_thread(kubeconfig.is_file):
        raise FileNotFoundError("there is no such file")
    loader = await loaders.load_kube_config(
        config_file=str(kubeconfig),
        context=context or None,
        client_configuration=settings,
        persist_config=False,
    )

    async def refresh() -> None:
        async with asyncio.timeout(_EXEC_TIMEOUT):
            await loader.load_and_set(settings)

    return refresh


def _tls(settings: Any) -> ssl.SSLContext | bool:
    if not settings.host.startswith("https"):
        return False
    trust = plain_tls(file=settings.ssl_ca_cert)
    if settings.cert_file:
        trust.load_cert_chain(settings.cert_file, settings.key_file)
    if not settings.verify_ssl:
        trust.check_hostname = False
        trust.verify_mode = ssl.CERT_NONE
    return trust


def plain_tls(authority: str | None = None, file: str | None = None) -> ssl.SSLContext:
    """Trust the authorities (PEM, or a file of them), or this machine's where none is given.

    Raises ssl.SSLError where they cannot be read.
    """
    trust = ssl.create_default_context(cafile=file, cadata=authority)
    # Clusters older than Python 3.13's stricter rules have authorities without a key usage.
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return trust


def _what_was_wrong(kubeconfig: Path | None, context: str, error: Exception) -> str:
    if kubeconfig is None:
        return f"not in a pod ({error}); give the path of a kubeconfig"
    suffix = f", context {context!r}" if context else ""
    return f"kubeconfig {kubeconfig}{suffix}: {str(error) or type(error).__name__}"
