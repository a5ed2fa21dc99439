"""SshProxy is the way to a host of SSH through the proxy of a Secret. Pure.

As in Argo CD the field `proxy` is for SSH too. There it is SOCKS5 whatever its scheme says; here
`http://` is a proxy with CONNECT.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from agent.git.credentials import GitCredential
from agent.proxies import is_bypassed
from bus.repository_url import RepositoryUrl

_KINDS = {"socks5": "socks5", "socks5h": "socks5", "http": "http"}
FAILURES = {
    "unreachable": "the proxy of the Secret cannot be reached",
    "broken-off": "the proxy of the Secret breaks the connection off",
    "no-proxy": "the proxy of the Secret does not answer as one: SOCKS5 is asked where its URL is "
    "socks5:// or has no scheme, CONNECT where it is http://",
    "login-refused": "the proxy of the Secret refuses user and password, or wants some",
    "host-refused": "the proxy of the Secret does not connect to the host of the repository",
}
"""By the words of `proxy_connection`."""
_FAILED = "gitops-proxy: "
_LONGEST_LOGIN = 255
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_EXPECTED = "expected socks5://host:port or http://host:port, with user:password@ where it asks"


class SshProxy(NamedTuple):
    kind: str
    host: str
    port: int
    login: tuple[str, str] | None

    @classmethod
    def parse(cls, written: str) -> SshProxy:
        """Read the field `proxy`; raises ValueError with a sentence that shows nothing of it."""
        text = written.strip()
        try:
            parts = urlsplit(text if "://" in text else f"socks5://{text}")
            host, port = parts.hostname or "", parts.port
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        except ValueError:
            raise ValueError(f"its proxy is no URL; {_EXPECTED}") from None
        kind = _KINDS.get(parts.scheme)
        if kind is None:
            raise ValueError(f"its proxy has a scheme that SSH cannot go through; {_EXPECTED}")
        if not (_HOST.fullmatch(host) and port):
            raise ValueError(f"its proxy lacks a host or a port; {_EXPECTED}")
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError(f"its proxy has more than a host and a port; {_EXPECTED}")
        if max(len(user.encode()), len(password.encode())) > _LONGEST_LOGIN or ":" in user:
            raise ValueError(f"its proxy has a login of more than {_LONGEST_LOGIN} bytes, or a `:`")
        return cls(kind, host, port, (user, password) if user or password else None)


def ssh_proxy_problem(written: str) -> str:
    """Why SSH can go through no such proxy; empty where it can, or where there is none."""
    try:
        return "" if not written.strip() else SshProxy.parse(written) and ""
    except ValueError as error:
        return str(error)


def proxy_document(url: RepositoryUrl, credential: GitCredential) -> str:
    """What `proxy_connection` reads; empty where no proxy is in between."""
    host = url.origin.host.strip("[]")
    if not credential.proxy.strip() or is_bypassed(host, credential.no_proxy):
        return ""
    proxy = SshProxy.parse(credential.proxy)
    document = {
        "proxy": (proxy.kind, proxy.host, proxy.port),
        "login": proxy.login,
        "host": host,
        "port": url.origin.port,
    }
    return msgspec.json.encode(document).decode()


def proxy_command(file: str) -> str:
    """`ProxyCommand` for the document in a file, of words without anything from outside."""
    program = Path(__file__).with_name("proxy_connection.py")
    words = (sys.executable, "-I", "-S", str(program), file)
    return shlex.join(words).replace("%", "%%")


def proxy_failure(file: str) -> str:
    """What the program left in its file where it failed, as a complaint; else nothing."""
    try:
        word = Path(file).read_text(encoding="utf-8") if file else ""
    except (OSError, ValueError):
        return ""
    return _FAILED + word if word in FAILURES else ""


def failure_of_proxy(complaint: str) -> str:
    """Explain a complaint of the way through a proxy; empty where it is none."""
    return FAILURES.get(complaint.removeprefix(_FAILED), "") if complaint else ""
