"""The address of a repository in a registry, and its references, as registries spell them. Pure."""

from __future__ import annotations

import re

from yarl import URL

from agent.download.failures import DownloadServer
from agent.oci.manifest import is_digest
from bus.status import Reason
from handlers.ports import RepositoryAccess

_DEFAULT_PORT = 443
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_LONGEST_NAME = 255


def name_of(server: DownloadServer, repository: RepositoryAccess) -> str:
    """Name the repository; empty for the registry as a whole. Raises RepositoryError."""
    chart = f"/{repository.chart}" if repository.chart else ""
    name = f"{repository.url.path}{chart}".removeprefix("/")
    if len(name) > _LONGEST_NAME or (name and not _NAME.fullmatch(name)):
        cause = f"{name[:_LONGEST_NAME]!r} is no name in a registry"
        remedy = "Registries have lower-case letters, digits and `.`, `_`, `-`: correct repoURL"
        raise server.error(Reason.INVALID_SPEC, cause, remedy)
    return name


def base_of(server: DownloadServer, repository: RepositoryAccess) -> URL:
    """Without TLS only where the Secret says so."""
    origin = repository.url.origin
    is_plain = server.credential is not None and server.credential.plain_http
    port = "" if origin.port == _DEFAULT_PORT else f":{origin.port}"
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    scheme = "http" if is_plain else "https"
    return URL(f"{scheme}://{host}{port}/v2/{name_of(server, repository)}")


def tag_of(target: str) -> str:
    """Write a version as registries do, `_` for `+`; empty where it is neither tag nor digest."""
    tag = target.replace("+", "_")
    return tag if is_digest(tag) or _TAG.fullmatch(tag) else ""
