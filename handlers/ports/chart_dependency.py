"""ChartDependency is a chart that another chart depends on and that does not lie beside it."""

from __future__ import annotations

import re

import msgspec

from bus.identity import NO_DIGEST, Digest, RepositoryKey, Revision

_WHOLE_VERSION = re.compile(r"v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_PART_OF_VERSION = re.compile(r"v?\d+(?:\.\d+)?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


class ChartDependency(msgspec.Struct, frozen=True, omit_defaults=True):
    """A dependency as the lock of a chart names it, or its Chart.yaml where there is no lock."""

    name: str
    repository: str
    """The URL of a Helm repository or a registry, or a name of a repository, as `@name`."""
    version: str
    locked: bool = False

    @property
    def is_exact(self) -> bool:
        """Whether it is one version, however many come after it."""
        return self.locked or _WHOLE_VERSION.fullmatch(self.version) is not None

    @property
    def target(self) -> str:
        """The version or range to look for: `1.2` is any `1.2.x` here, where a source pins it."""
        if not self.locked and _PART_OF_VERSION.fullmatch(self.version):
            return f"={self.version}"
        return self.version

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class DependencyRecord(msgspec.Struct, frozen=True):
    """What a render took for a dependency: where it was read, with whose login, which version."""

    wanted: ChartDependency
    repository: RepositoryKey
    project: str
    """The project of the login; empty for one of all projects."""
    revision: Revision
    signers: Digest = NO_DIGEST
    """The digest of whose signatures were demanded; empty where none were."""
