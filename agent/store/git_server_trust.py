"""GitServerTrust follows the two ConfigMaps of Argo CD that say by what Git servers are believed.

`argocd-tls-certs-cm` has one key for each host, without its port, with certificates in PEM: such a
server's certificate is trusted only if one of them has signed it. `argocd-ssh-known-hosts-cm` has
the lines of known_hosts(5); a host of SSH that none of them names is not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

import structlog

from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.store.named_config_map import Data, NamedConfigMap
from handlers.trust.hosts import FIELD

log = structlog.get_logger()


class GitServerTrust:
    def __init__(self) -> None:
        self._by_host: Mapping[str, str] = {}
        self._lines = ""
        self.config_maps = (
            _config_map(CERTIFICATES, self._read_certificates),
            _config_map(KNOWN_HOSTS, self._read_lines),
        )

    def authority(self, url: str) -> str:
        return self._by_host.get(urlsplit(url).hostname or "", "")

    def known_hosts(self) -> str:
        return self._lines

    async def known(self) -> None:
        """Wait until the content of both ConfigMaps is known."""
        for config_map in self.config_maps:
            await config_map.known.wait()

    def _read_certificates(self, data: Data | None) -> None:
        self._by_host = {host.lower(): pem for host, pem in (data or {}).items() if pem}

    def _read_lines(self, data: Data | None) -> None:
        self._lines = (data or {}).get(FIELD, "")


def _config_map(name: str, on_data: Callable[[Data | None], None]) -> NamedConfigMap:
    return NamedConfigMap(name=name, on_data=on_data, on_refused=partial(_refused, name))


def _refused(name: str, why: str) -> None:
    log.warning("what Git servers are believed by cannot be read", name=name, reason=why)
