"""SocksConnector opens connections through a SOCKS5 proxy (RFC 1928, with the login of RFC 1929).

The proxy looks up the name of the server, as with client-go: a cluster behind it may have a name
that means nothing here. TLS is spoken with the server itself, so the proxy sees ciphertext, and
`tlsClientConfig.serverName` is checked as without a proxy.

Where it hooks in is `_wrap_create_connection` of aiohttp's connector, the step between an address
and its protocol; what aiohttp has resolved before is not used.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

SOCKS = "socks5"
_PORT = 1080
_VERSION, _LOGIN_VERSION = 5, 1
_NO_LOGIN, _LOGIN = 0, 2
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SIZES = {_IPV4: 4, _IPV6: 16}
_LONGEST = 255
_SECONDS = 10.0
_REFUSALS = {
    1: "general failure",
    2: "its rules do not allow the connection",
    3: "the network is unreachable",
    4: "the host is unreachable",
    5: "the connection was refused",
    6: "the time to live expired",
    7: "it knows no CONNECT",
    8: "it knows no such type of address",
}


class SocksError(OSError):
    """The proxy refuses the connection, or is none; the message has no login."""


def is_socks(proxy: str | None) -> bool:
    return proxy is not None and urlsplit(proxy).scheme.lower() == SOCKS


class SocksConnector(aiohttp.TCPConnector):
    """`create` makes each socket."""

    def __init__(
        self, proxy: str, create: Callable[[aiohttp.AddrInfoType], socket.socket], **options: Any
    ) -> None:
        super().__init__(resolver=_NoLookup(), **options)
        parts = urlsplit(proxy)
        self._proxy_host, self._proxy_port = parts.hostname or "", parts.port or _PORT
        self._where = f"the SOCKS proxy {self._proxy_host}:{self._proxy_port}"
        self._login = (unquote(parts.username or ""), unquote(parts.password or ""))
        self._create_socket = create

    async def _wrap_create_connection(
        self, *args: Any, req: aiohttp.ClientRequest, **kwargs: Any
    ) -> Any:
        """Connect to the proxy, ask it for the server, and go on as over a plain connection."""
        for name in ("addr_infos", "timeout", "client_error"):
            kwargs.pop(name, None)
        target = (req.url.raw_host or "", req.url.port or 443)
        loop = asyncio.get_running_loop()
        connected = await self._through_proxy(loop, target)
        async with asyncio.timeout(_SECONDS):
            return await loop.create_connection(*args, **kwargs, sock=connected)

    async def _through_proxy(
        self, loop: asyncio.AbstractEventLoop, target: tuple[str, int]
    ) -> socket.socket:
        try:
            async with asyncio.timeout(_SECONDS):
                connected = await self._to_proxy(loop)
                try:
                    await _ask(connected, target, self._login)
                except BaseException:
                    connected.close()
                    raise
                return connected
        except SocksError as error:
            raise aiohttp.ClientConnectionError(str(error)) from None
        except TimeoutError:
            text = f"{self._where} did not answer in time"
            raise aiohttp.ClientConnectionError(text) from None

    async def _to_proxy(self, loop: asyncio.AbstractEventLoop) -> socket.socket:
        """Connect to the first address of the proxy that answers."""
        try:
            found = await loop.getaddrinfo(
                self._proxy_host, self._proxy_port, type=socket.SOCK_STREAM
            )
        except OSError:
            raise SocksError(f"{self._where} is not known by name") from None
        why = "it has no address"
        for info in found:
            created = self._create_socket(info)
            created.settimeout(0)
            try:
                await loop.sock_connect(created, info[4])
            except OSError as error:
                created.close()
                why = error.strerror or "it does not answer"
            except BaseException:
                created.close()
                raise
            else:
                return created
        raise SocksError(f"{self._where} cannot be reached: {why}")


async def _ask(sock: socket.socket, target: tuple[str, int], login: tuple[str, str]) -> None:
    """Log in where the proxy asks for it, and have it connect to the target."""
    methods = bytes([_NO_LOGIN, _LOGIN] if login[0] else [_NO_LOGIN])
    await _send(sock, bytes([_VERSION, len(methods)]) + methods)
    version, method = await _receive(sock, 2)
    if version != _VERSION:
        raise SocksError("the SOCKS proxy does not speak SOCKS5")
    if method == _LOGIN and login[0]:
        user, password = (part.encode()[:_LONGEST] for part in login)
        packed = bytes([len(user)]) + user + bytes([len(password)]) + password
        await _send(sock, bytes([_LOGIN_VERSION]) + packed)
        if (await _receive(sock, 2))[1]:
            raise SocksError("the SOCKS proxy refuses user and password of proxyUrl")
    elif method != _NO_LOGIN:
        raise SocksError("the SOCKS proxy wants a login that proxyUrl does not have")
    await _send(sock, bytes([_VERSION, _CONNECT, 0]) + _packed(*target))
    version, code, _, kind = await _receive(sock, 4)
    if version != _VERSION or code:
        why = _REFUSALS.get(code, f"code {code}")
        raise SocksError(f"the SOCKS proxy does not connect to {target[0]}:{target[1]}: {why}")
    size = _SIZES.get(kind) or (await _receive(sock, 1))[0]
    await _receive(sock, size + 2)  # the address of the proxy's own end


def _packed(host: str, port: int) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        if len(name) > _LONGEST:
            raise SocksError(f"the name of the server has more than {_LONGEST} bytes") from None
        return bytes([_NAME, len(name)]) + name + port.to_bytes(2, "big")
    kind = _IPV4 if address.version == 4 else _IPV6
    return bytes([kind]) + address.packed + port.to_bytes(2, "big")


async def _send(sock: socket.socket, message: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, message)


async def _receive(sock: socket.socket, size: int) -> bytes:
    """Receive exactly so many bytes: one more would be of the server."""
    loop, found = asyncio.get_running_loop(), b""
    while len(found) < size:
        part = await loop.sock_recv(sock, size - len(found))
        if not part:
            raise SocksError("the SOCKS proxy ended the connection")
        found += part
    return found


class _NoLookup(AbstractResolver):
    """Answers with an address that is not used: the proxy looks names up."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        unused = ResolveResult(hostname=host, host=host, port=port, family=family, proto=0, flags=0)
        return [unused]

    async def close(self) -> None:
        """Nothing is open."""
