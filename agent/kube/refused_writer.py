"""RefusedWriter stands where an Application has no account to act as: it writes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from agent.kube.errors import ForbiddenError
from agent.kube.live import LiveCluster
from handlers.ports import ApplyOptions, LiveObject, Manifest


@dataclass(frozen=True, slots=True)
class RefusedWriter:
    """Implements the port ClusterWriter."""

    why: str
    live: LiveCluster

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject:  # noqa: ARG002  the port's
        raise self._refusal()

    async def delete(
        self,
        live: LiveObject,  # noqa: ARG002  the port's
        *,
        propagation: str = "foreground",  # noqa: ARG002
        at_once: bool = False,  # noqa: ARG002
    ) -> None:
        raise self._refusal()

    async def remove_finalizer(self, live: LiveObject, finalizer: str) -> None:  # noqa: ARG002
        raise self._refusal()

    async def read(self, live: LiveObject, version: str) -> LiveObject:  # noqa: ARG002
        raise self._refusal()

    async def managed_fields(self, live: LiveObject) -> tuple[Manifest, ...]:  # noqa: ARG002
        raise self._refusal()

    async def refresh_kinds(self) -> None:
        await self.live.look()

    def _refusal(self) -> ForbiddenError:
        return ForbiddenError(self.why, code=403, permanent=True)
