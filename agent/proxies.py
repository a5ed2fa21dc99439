"""Proxies: the one of the environment, and the one of a Secret."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass


def proxy_of_environment(url: str) -> str | None:
    """Read the proxy once; a client with `trust_env` reads it, and .netrc, at every request."""
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def proxy_of_secret(url: str, proxy: str, no_proxy: str) -> str | None:
    """Choose the proxy for a URL; a Secret's own replaces that of the environment."""
    if is_bypassed(urlsplit(url).hostname or "", no_proxy):
        return None
    return proxy or proxy_of_environment(url)


def is_bypassed(host: str, no_proxy: str) -> bool:
    """Whether a list of hosts and domains (`.example`, `*`) names the host, as curl reads it."""
    names = (one.strip().lower().removeprefix("*").lstrip(".") for one in no_proxy.split(","))
    listed = [one.partition(":")[0] for one in names if one] if no_proxy.strip() != "*" else [host]
    return any(host == one or host.endswith(f".{one}") for one in listed)
