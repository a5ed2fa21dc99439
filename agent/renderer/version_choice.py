"""SandboxVersions chooses among versions in the sandbox, by the library that Argo CD uses.

The same question is asked at every look at a repository, so answers are remembered by the range and
the names. A range costs its project one evaluation whenever a version comes or goes.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from agent.renderer.renderer import reason_of
from bus.status import Reason
from handlers.ports import RepositoryError
from sandbox.client import Evaluation, Sandbox, SandboxBusyError, SandboxError, SandboxReason
from sandbox.client.evaluation import NoFiles

MOST_VERSIONS = 200_000
LONGEST_VERSION = 256
_REMEMBERED = 512


class _Answer(msgspec.Struct, frozen=True):
    version: str


class SandboxVersions:
    """Implements agent.version_range.VersionChoice."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._known: OrderedDict[tuple[str, bytes], str | None] = OrderedDict()

    async def highest(
        self, constraint: str, versions: Sequence[str], *, project: str
    ) -> str | None:
        names = sorted(one for one in set(versions) if len(one) <= LONGEST_VERSION)
        if len(names) > MOST_VERSIONS:
            message = f"there are {len(names)} versions, and the limit is {MOST_VERSIONS}"
            raise RepositoryError(Reason.OUTPUT_TOO_LARGE, f"{constraint!r}: {message}")
        key = (constraint, hashlib.sha256("\0".join(names).encode()).digest())
        if key not in self._known:
            self._known[key] = await self._choose(constraint, names, project)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]

    async def _choose(self, constraint: str, names: Sequence[str], project: str) -> str | None:
        work = Evaluation(
            op="semver",
            params={"constraint": constraint, "versions": names},
            files=NoFiles(),
            project=project,
        )
        try:
            _, body = await self._sandbox.run(work)
        except SandboxBusyError as error:
            message = f"{constraint!r} cannot be resolved now: {error.message}"
            raise RepositoryError(Reason.REPOSITORY_UNREACHABLE, message) from error
        except SandboxError as error:
            if error.reason is SandboxReason.SEMVER_INVALID:
                return None
            message = f"{constraint!r} cannot be resolved: {error.message}"
            raise RepositoryError(reason_of(error.reason), message) from error
        return msgspec.json.decode(body, type=_Answer).version
