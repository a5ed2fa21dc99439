"""GitServerTrust follows the two ConfigMaps of Argo CD that say by what Git servers are believed.

`argocd-tls-certs-cm` has one key for each host, without its port, with certificates in PEM: such a
server's certificate is trusted only if one of them has signed it. `argocd-ssh-known-hosts-cm` has
the lines of known_hosts(5); a host of SSH that none of them names is not believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.store.named_config_maps import NamedConfigMaps
from handlers.trust.hosts import FIELD


class GitServerTrust:
    def __init__(self) -> None:
        self._by_host: Mapping[str, str] = {}
        self._lines = ""
        self.config_maps = NamedConfigMaps(
            names=(CERTIFICATES, KNOWN_HOSTS),
            unreadable="what Git servers are believed by cannot be read",
            on_change=self._read,
        )

    def authority(self, url: str) -> str:
        return self._by_host.get(urlsplit(url).hostname or "", "")

    def known_hosts(self) -> str:
        return self._lines

    def _read(self) -> None:
        by_host = self.config_maps.last_read(CERTIFICATES)
        self._by_host = {host.lower(): pem for host, pem in by_host.items() if pem}
        self._lines = self.config_maps.last_read(KNOWN_HOSTS).get(FIELD, "")
