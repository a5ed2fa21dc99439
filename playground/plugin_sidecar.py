"""A sidecar of a config management plugin: Argo CD's own server as a process, with a plugin.yaml.

In a cluster it is a container beside the agent; here it is a child process behind the same socket.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.child_process import ChildProcess, ChildProgram


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSidecar:
    """A plugin of this name and `spec`; its socket is in the folder `sockets`."""

    binary: Path
    folder: Path
    sockets: Path
    name: str
    spec: Mapping[str, Any]

    @property
    def socket(self) -> Path:
        version = self.spec.get("version", "")
        return self.sockets / f"{self.name}{f'-{version}' if version else ''}.sock"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ChildProcess]:
        await asyncio.to_thread(self._write_configuration)
        program = ChildProgram(
            name=f"plugin-{self.name}",
            command=(str(self.binary), "--config-dir-path", str(self.folder)),
            folder=self.folder,
            environment={
                "ARGOCD_PLUGINSOCKFILEPATH": str(self.sockets),
                "ARGOCD_CMP_WORKDIR": str(self.folder / "work"),
            },
        )
        async with ChildProcess(program, self._answers) as process:
            yield process

    def _write_configuration(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sockets.mkdir(parents=True, exist_ok=True)
        configuration = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "ConfigManagementPlugin",
            "metadata": {"name": self.name},
            "spec": self.spec,
        }
        (self.folder / "plugin.yaml").write_text(json.dumps(configuration))

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(self.socket)
        except OSError:
            return False
        writer.close()
        return True
