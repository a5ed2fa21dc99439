"""NamedConfigMaps follows several ConfigMaps of the control namespace that are read together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from agent.store.named_config_map import Data, NamedConfigMap

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class NamedConfigMaps:
    """`members` are the sinks of the watches."""

    names: Sequence[str]
    unreadable: str
    """What the log says of one that may not be read."""
    on_change: Callable[[], None]
    """Called when one was read or refused."""
    members: tuple[NamedConfigMap, ...] = field(init=False)
    refused: dict[str, str] = field(default_factory=dict)
    """Why a ConfigMap may not be read, by its name; until it is read again."""
    _written: dict[str, Data] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.members = tuple(
            NamedConfigMap(
                name=name, on_data=partial(self._read, name), on_refused=partial(self._refuse, name)
            )
            for name in self.names
        )

    async def known(self) -> None:
        """Wait until the content of each ConfigMap is known, or that it may not be read."""
        for member in self.members:
            await member.known.wait()

    def last_read(self, name: str) -> Data:
        """The content that was read last, also of a ConfigMap that may not be read any more."""
        return self._written.get(name, {})

    def _read(self, name: str, data: Data | None) -> None:
        self._written[name] = data or {}
        self.refused.pop(name, None)
        self.on_change()

    def _refuse(self, name: str, why: str) -> None:
        log.warning(self.unreadable, name=name, reason=why)
        self.refused[name] = why
        self.on_change()
