"""SourceAddress says where a source is and of which kind, by the source's own fields. Pure.

As in Argo CD the fields decide and no Secret's type does: a URL `oci://` is an artifact of an OCI
registry, a `chart` is one of a Helm repository (or of a registry, where the URL has no scheme), and
everything else is a Git repository.

    repoURL                      chart   kind   key
    https://git.example/team/a           git    https://git.example/team/a
    https://charts.example/all   web     helm   https://charts.example/all#web
    registry.example/charts      web     helm   oci://registry.example/charts#web
    oci://registry.example/web           oci    oci://registry.example/web

No URL has a `#`, so a chart never shares its key with a Git repository.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from bus.address import Origin
from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.spec import Source

OCI_SCHEME = "oci"
_OCI = f"{OCI_SCHEME}://"
_CHART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_LONGEST_CHART = 250


class SourceKind(StrEnum):
    GIT = "git"
    HELM = "helm"
    OCI = "oci"


class SourceAddress(msgspec.Struct, frozen=True):
    kind: SourceKind
    url: RepositoryUrl
    chart: str = ""
    """Name of the chart; empty unless the kind is `helm`."""

    @property
    def key(self) -> RepositoryKey:
        return key_of(self.url, self.chart)

    @property
    def places(self) -> tuple[RepositoryUrl, ...]:
        """List all addresses that the source may be read at, its own first.

        A chart has one of its own below the repository's; and whether an HTTP address is that of a
        registry is said by a Secret (`enableOCI`), so it has both forms.
        """
        if not self.chart:
            return (self.url,)
        chart = msgspec.structs.replace(self.url, path=f"{self.url.path}/{self.chart}")
        found = (self.url, chart)
        registry = tuple(msgspec.structs.replace(one, origin=_registry(one)) for one in found)
        return tuple(dict.fromkeys((*found, *registry)))

    @property
    def delivery_key(self) -> str:
        """The form in which deliveries are matched; a registry names a chart as its path."""
        chart = f"/{self.chart}".lower() if self.chart else ""
        return self.url.delivery_key + chart

    @classmethod
    def of(cls, source: Source) -> SourceAddress:
        """Read the address of a source; raises RepositoryUrlError."""
        written = source.repo_url.strip()
        if written.lower().startswith(_OCI):
            return cls(SourceKind.OCI, RepositoryUrl.parse(written))
        if not source.chart:
            return cls(SourceKind.GIT, RepositoryUrl.parse(written))
        url = RepositoryUrl.parse(written if "://" in written else _OCI + written)
        return cls(SourceKind.HELM, url, _checked_chart(source.chart))


def is_chart(source: Source) -> bool:
    """Whether `chart` counts: not with a URL `oci://`, as in Argo CD."""
    return bool(source.chart) and not _is_artifact(source)


def passes_credentials(source: Source) -> bool:
    """Whether the login of a chart's repository goes wherever its index leads (Helm's option)."""
    return is_chart(source) and source.helm is not None and source.helm.pass_credentials


def is_versioned(source: Source) -> bool:
    """Whether the source has versions and no HEAD."""
    return bool(source.chart) or _is_artifact(source)


def folder_in(source: Source) -> str:
    """Return the path that is rendered: of a chart its root, whatever `path` says."""
    return "" if is_chart(source) else source.path


def _is_artifact(source: Source) -> bool:
    return source.repo_url.strip().lower().startswith(_OCI)


def _registry(url: RepositoryUrl) -> Origin:
    return msgspec.structs.replace(url.origin, scheme=OCI_SCHEME)


def key_of(url: RepositoryUrl, chart: str) -> RepositoryKey:
    return RepositoryKey(f"{url}#{chart}" if chart else str(url))


def _checked_chart(name: str) -> str:
    if len(name) > _LONGEST_CHART or not all(map(_CHART.fullmatch, name.split("/"))):
        raise RepositoryUrlError(
            f"has the chart {name[:_LONGEST_CHART]!r}, which is no name of a chart; expected "
            "letters, digits, `-`, `_` and `.`, in segments that slashes part"
        )
    return name
