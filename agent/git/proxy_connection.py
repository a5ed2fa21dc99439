"""A program that connects to a host of SSH through a proxy, as OpenSSH's `ProxyCommand`.

Its one argument names a file with what to connect to, so that nothing of a Secret stands in an
argument. The connection is handed to SSH (`ProxyUseFdpass`), and the program is gone. SSH drops
what it complains of, so it writes the word of its failure over the file, where the agent reads it.

It runs without the packages of the agent: Python's own library is all that it may import.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import socket
import sys
from pathlib import Path
from typing import Any

SECONDS = 15.0
_LONGEST_HEAD = 16 * 1024
_REFUSED_LOGIN = (401, 407)
_OK = 200


class ProxyConnectionError(Exception):
    """The proxy did not connect; the text is one of the words of `ssh_failures`."""


def connected(wanted: dict[str, Any]) -> socket.socket:
    """Connect to `host` and `port` by way of `proxy`; raises ProxyConnectionError."""
    kind, name, port = wanted["proxy"]
    try:
        found = socket.create_connection((name, port), timeout=SECONDS)
    except OSError as error:
        raise ProxyConnectionError("unreachable") from error
    try:
        through = _by_socks if kind == "socks5" else _by_connect
        through(found, wanted)
        found.settimeout(None)
    except ProxyConnectionError:
        found.close()
        raise
    except (OSError, ValueError) as error:
        found.close()
        raise ProxyConnectionError("broken-off") from error
    return found


def _by_socks(proxy: socket.socket, wanted: dict[str, Any]) -> None:
    """SOCKS5 (RFC 1928, 1929): the proxy looks the name up."""
    login = wanted["login"]
    proxy.sendall(b"\5\2\0\2" if login else b"\5\1\0")
    version, method = _exactly(proxy, 2)
    if version != 5:
        raise ProxyConnectionError("no-proxy")
    if method not in ((0, 2) if login else (0,)):
        raise ProxyConnectionError("login-refused")
    if method:
        user, password = (part.encode() for part in login)
        proxy.sendall(b"\1" + _counted(user) + _counted(password))
        if _exactly(proxy, 2)[1]:
            raise ProxyConnectionError("login-refused")
    proxy.sendall(b"\5\1\0" + _socks_address(wanted["host"]) + wanted["port"].to_bytes(2))
    _, code, _, form = _exactly(proxy, 4)
    if code:
        raise ProxyConnectionError("host-refused")
    size = {1: 4, 4: 16}.get(form) or _exactly(proxy, 1)[0]
    _exactly(proxy, size + 2)


def _socks_address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return b"\3" + _counted(host.encode("ascii"))
    return (b"\1" if address.version == 4 else b"\4") + address.packed


def _by_connect(proxy: socket.socket, wanted: dict[str, Any]) -> None:
    """CONNECT of HTTP: what comes after the head is the host's, so it is read byte by byte."""
    host = f"[{wanted['host']}]" if ":" in wanted["host"] else wanted["host"]
    target = f"{host}:{wanted['port']}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if wanted["login"]:
        pair = base64.b64encode(":".join(wanted["login"]).encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {pair}")
    proxy.sendall("\r\n".join([*lines, "", ""]).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += _exactly(proxy, 1)
        if len(head) > _LONGEST_HEAD or not head.startswith(b"HTTP/"[: len(head)]):
            raise ProxyConnectionError("no-proxy")
    status = int(head.split(maxsplit=2)[1])
    if status != _OK:
        refused = "login-refused" if status in _REFUSED_LOGIN else "host-refused"
        raise ProxyConnectionError(refused)


def _exactly(proxy: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = proxy.recv(size - len(found))
        if not part:
            raise ProxyConnectionError("broken-off")
        found += part
    return found


def _counted(text: bytes) -> bytes:
    return len(text).to_bytes(1) + text


def main(file: str) -> int:
    try:
        found = connected(json.loads(Path(file).read_text(encoding="utf-8")))
    except ProxyConnectionError as error:
        Path(file).write_text(str(error), encoding="utf-8")
        return 1
    with socket.socket(fileno=1) as ssh, found:
        socket.send_fds(ssh, [b"\0"], [found.fileno()])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
