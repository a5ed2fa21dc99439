"""BusSettings: how to reach a NATS and whose streams to use there."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bus.logins import Login, inbox_prefix
from bus.signature import CommandKey
from bus.subjects import Scope
from bus.topology import SIZES, Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class BusSettings:
    """At most one of credentials file, nkey seed (or its file), token and user is set."""

    url: str
    """One address or several with commas: `nats://`, `tls://`, `ws://` or `wss://`."""
    account: str = "default"
    agent: str = "default"
    credentials_file: str = ""
    nkey_seed_file: str = ""
    nkey_seed: str = field(default="", repr=False)
    login: Login = Login.AGENT
    """Where the server's answers go; what is permitted there is the server's affair."""
    token: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)
    tls_ca_file: str = ""
    tls_cert_file: str = ""
    tls_key_file: str = ""
    command_key: CommandKey = field(default_factory=CommandKey)
    """Signs the commands that are published here, and verifies those that are dispatched."""
    replicas: int = 1
    """Copies of every stream: 3 where NATS is a cluster of three."""
    sizes: Sizes = SIZES
    connect_seconds: float = 30.0
    """How long `open` waits for the first connection."""
    publish_seconds: float = 120.0
    """How long a publish waits for the server, a lost connection included."""
    ack_wait: float = 30.0
    """Seconds without a sign of life after which a delivery is made again."""
    inbox_limit: int = 256
    """Deliveries of one route that are taken and not settled, at most."""

    @property
    def scope(self) -> Scope:
        return Scope(self.account, self.agent)

    @property
    def inbox_prefix(self) -> str:
        return inbox_prefix(self.scope, self.login)

    @property
    def servers(self) -> list[str]:
        return [part.strip() for part in self.url.split(",") if part.strip()]

    @property
    def hosts(self) -> str:
        """The servers without what may be secret in a URL: for logs and errors."""
        return ", ".join(urlsplit(server).netloc.rpartition("@")[2] for server in self.servers)

    def tls(self) -> ssl.SSLContext | None:
        """None where nothing says more than the URL's own scheme."""
        if not (self.tls_ca_file or self.tls_cert_file):
            return None
        context = ssl.create_default_context(cafile=self.tls_ca_file or None)
        if self.tls_cert_file:
            context.load_cert_chain(self.tls_cert_file, self.tls_key_file or None)
        return context
