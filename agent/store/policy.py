"""The control plane's policy, followed: the ConfigMap `gitops-agent-limits` as it stands now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from agent.kube.watch import State, Subject
from handlers.application.application import Metadata
from handlers.control_plane.policy import CONFIG_MAP, ControlPlanePolicy, read_policy

log = structlog.get_logger()


class _ConfigMap(msgspec.Struct, frozen=True):
    metadata: Metadata
    data: dict[str, str] | None = None


_CONFIG_MAP = msgspec.json.Decoder(_ConfigMap, strict=False)
_UNREADABLE = ControlPlanePolicy(read_only=True, problem="the agent may not read ConfigMaps here")


@dataclass(slots=True)
class PolicyWatch:
    """A sink of the watch; `known` is set when it is certain what stands there."""

    now: ControlPlanePolicy = field(default_factory=lambda: read_policy(None))
    known: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    listener: Callable[[], None] = lambda: None
    """Called when another policy holds than before."""
    _found: bool = False

    def begin_list(self) -> None:
        self._found = False

    def forget_versions(self) -> None:
        """No version is compared here."""

    def put(self, raw: bytes) -> None:
        found = _CONFIG_MAP.decode(raw)
        if found.metadata.name == CONFIG_MAP:
            self._found = True
            self._become(read_policy(found.data or {}))

    def remove(self, raw: bytes) -> None:
        if _CONFIG_MAP.decode(raw).metadata.name == CONFIG_MAP:
            self._become(read_policy(None))

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        if not self._found:
            self._become(read_policy(None))
        self.known.set()

    def on_state(self, state: State, why: str) -> None:
        """Without the right to read it nothing that came over the link is written here."""
        if state is State.FORBIDDEN:
            log.warning("policy cannot be read: nothing of the link is written", reason=why)
            self._become(_UNREADABLE)
            self.known.set()

    def _become(self, policy: ControlPlanePolicy) -> None:
        if policy == self.now:
            return
        self.now = policy
        self.changed.set()
        self.listener()
        if policy.problem:
            log.warning("policy cannot be understood", problem=policy.problem)


def policy_of(namespace: str) -> Subject:
    return Subject(
        name=f"ConfigMap {CONFIG_MAP}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        query={"fieldSelector": f"metadata.name={CONFIG_MAP}"},
    )
