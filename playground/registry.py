"""An OCI registry: the one of the CNCF (distribution), on loopback, with its files on disk.

Two registries may have the same files: one that anybody may push to, and one that wants a login.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_tcp, free_port

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TAR_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, slots=True)
class OciRegistry:
    address: str
    """`127.0.0.1:port`."""

    async def push(
        self,
        name: str,
        tag: str,
        layers: Sequence[tuple[str, bytes]],
        config: tuple[str, bytes] = (CHART_CONFIG, b"{}"),
        annotations: Mapping[str, str] = {},
    ) -> str:
        """Push an artifact of layers, each with its media type; returns the manifest's digest.

        `annotations` are those of each layer.
        """
        async with aiohttp.ClientSession(f"http://{self.address}") as session:
            manifest = {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": await _blob(session, name, *config),
                "layers": [
                    {**await _blob(session, name, *layer), "annotations": annotations}
                    for layer in layers
                ],
            }
            headers = {"Content-Type": MANIFEST}
            body = json.dumps(manifest).encode()
            url = f"/v2/{name}/manifests/{tag}"
            async with session.put(url, data=body, headers=headers) as answer:
                answer.raise_for_status()
        return f"sha256:{hashlib.sha256(body).hexdigest()}"

    async def push_chart(self, name: str, version: str, archive: bytes) -> str:
        """Push as `helm push` does: `_` in the tag for the `+` of the version."""
        return await self.push(name, version.replace("+", "_"), [(CHART_LAYER, archive)])


async def _blob(
    session: aiohttp.ClientSession, name: str, media_type: str, content: bytes
) -> Mapping[str, Any]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    async with session.post(f"/v2/{name}/blobs/uploads/") as answer:
        answer.raise_for_status()
        place = answer.headers["Location"]
    joined = "&" if "?" in place else "?"
    async with session.put(f"{place}{joined}digest={digest}", data=content) as answer:
        answer.raise_for_status()
    return {"mediaType": media_type, "digest": digest, "size": len(content)}


@asynccontextmanager
async def oci_registry(
    binary: Path,
    folder: Path,
    files: Path,
    auth: Mapping[str, Any] | None = None,
    notifications: Mapping[str, Any] | None = None,
) -> AsyncIterator[OciRegistry]:
    """Run a registry over `files`; the other two are parts of its configuration by their names."""
    port = free_port()
    settings = {
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(files)}},
        "http": {"addr": f"127.0.0.1:{port}"},
        **({"auth": auth} if auth else {}),
        **({"notifications": notifications} if notifications else {}),
    }
    configuration = folder / "registry.json"
    await asyncio.to_thread(_write, configuration, json.dumps(settings))
    program = ChildProgram(
        name="registry", command=(str(binary), "serve", str(configuration)), folder=folder
    )
    async with ChildProcess(program, answers_tcp(port)):
        yield OciRegistry(f"127.0.0.1:{port}")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
