"""Charts of Helm repositories that a project wants signed, with real GnuPG signatures."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from agent.git.gnupg import Gnupg
from agent.helm.provenance import ProvenanceChecks
from bus.status import Reason
from handlers.ports import RepositoryError
from handlers.trust.signing_trust import signing_trust
from playground.charthost import packaged
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.signers import Signers, SigningKey
from tests.unit.agent.download.reader import answering, source_reading, text_of

ARCHIVE = packaged("web", "1.0.0")
INDEX = "entries:\n  web:\n  - version: 1.0.0\n    urls:\n    - web-1.0.0.tgz\n"
NAME = "name: web\nversion: 1.0.0\n"


def signed_text(metadata: str = NAME, archive: bytes = ARCHIVE) -> bytes:
    digest = hashlib.sha256(archive).hexdigest()
    files = f"files:\n  web-1.0.0.tgz: sha256:{digest}\n"
    return f"apiVersion: v2\n{metadata}\n...\n{files}".encode()


@dataclass
class SignedChart:
    """A repository with one chart, and the provenance file beside it."""

    folder: Path
    sandbox: Sandbox
    signers: Signers
    provenance: bytes = b""
    seen: list[str] = field(default_factory=list)

    def sign(self, content: bytes, key: SigningKey | None = None) -> None:
        by = (key or self.signers.good).fingerprint
        self.provenance = self.signers.gnupg.clear_sign(content, by)

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append(request.path.rpartition("/")[2])
        if request.path.endswith("index.yaml"):
            return web.Response(text=INDEX)
        if not request.path.endswith(".prov"):
            return web.Response(body=ARCHIVE)
        return web.Response(body=self.provenance, status=200 if self.provenance else 404)

    async def read(self, *keys: SigningKey) -> str:
        """Read the chart for a project that names these keys."""
        trust = signing_trust(dict(self.signers.listed))
        checks = ProvenanceChecks(Gnupg(self.folder / "gnupg"), lambda: trust)
        named = tuple(f"gpg:{one.id}@x" for one in keys or (self.signers.good,))
        reader = source_reading(self.folder, self.sandbox, (named,), checks)
        async with answering(self.answer) as url:
            return text_of(await reader.files(url, "1.0.0", "web"), "Chart.yaml")

    async def refusal(self, *keys: SigningKey) -> str:
        with pytest.raises(RepositoryError) as caught:
            await self.read(*keys)
        assert caught.value.reason is Reason.SOURCE_UNPROVEN
        assert "plumbline.dev/artifact-signers" in caught.value.message
        return caught.value.message


@pytest.fixture
async def chart(
    tmp_path: Path, sandbox_binary: Path, signers: Signers
) -> AsyncIterator[SignedChart]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        yield SignedChart(tmp_path, sandbox, signers)


async def test_a_chart_that_a_named_key_has_signed_is_read(chart: SignedChart) -> None:
    chart.sign(signed_text())
    assert "name: web" in await chart.read(chart.signers.unlisted, chart.signers.good)
    assert chart.seen == ["index.yaml", "web-1.0.0.tgz", "web-1.0.0.tgz.prov"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (signed_text(archive=b"other"), "names another digest than sha256:"),
        (signed_text("name: web\nversion: 0.9.0\n"), "is of web 0.9.0"),
        (signed_text("name: api\nversion: 1.0.0\n"), "is of api 1.0.0"),
        (b"hello\n", "cannot be read"),
    ],
    ids=["digest", "version", "name", "text"],
)
async def test_a_signature_of_something_else_proves_nothing(
    chart: SignedChart, content: bytes, words: str
) -> None:
    chart.sign(content)
    assert words in await chart.refusal()


async def test_a_message_that_was_changed_or_is_missing_proves_nothing(chart: SignedChart) -> None:
    assert "there is no provenance file" in await chart.refusal()
    chart.provenance = signed_text()
    assert "cannot be read" in await chart.refusal()
    chart.sign(signed_text())
    chart.provenance = chart.provenance.replace(b"apiVersion: v2", b"apiVersion: v1")
    assert "bad signature" in await chart.refusal()


async def test_a_key_that_is_unlisted_or_not_named_proves_nothing(chart: SignedChart) -> None:
    chart.sign(signed_text(), chart.signers.unlisted)
    assert "a key that the agent does not know" in await chart.refusal(chart.signers.unlisted)
    chart.sign(signed_text())
    assert "which the AppProject does not name" in await chart.refusal(chart.signers.expired)
