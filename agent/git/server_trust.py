"""ServerTrust: by what the servers of repositories are believed."""

from __future__ import annotations

from typing import Protocol


class ServerTrust(Protocol):
    """What servers are believed by."""

    def authority(self, url: str) -> str:
        """Return the certificates for a URL, in PEM; empty: the authorities of this machine."""
        ...

    def known_hosts(self) -> str:
        """Hosts of SSH and their keys, in the lines that OpenSSH knows them by."""
        ...


class MachineTrust:
    """The authorities of this machine, and no host of SSH."""

    def authority(self, _url: str) -> str:
        return ""

    def known_hosts(self) -> str:
        return ""
