"""Provenance files of charts (`web-1.0.0.tgz.prov`), checked where an AppProject demands it.

The message beside an archive has to be signed by a key of `argocd-gpg-keys-cm` that the project
names, and to name the chart, its version and the digest of the archive that came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import NamedTuple

from yarl import URL

from agent.download.downloader import Downloader, DownloadRequest
from agent.download.failures import DownloadServer
from agent.git.gnupg import Gnupg
from bus.status import Reason
from handlers.application.artifact_signers import Signers, gnupg_keys_of
from handlers.ports import RendererBusyError, RepositoryError
from handlers.ports.rendering import RenderError
from handlers.trust.chart_provenance import chart_provenance
from handlers.trust.clear_signed import clear_signed
from handlers.trust.gnupg_status import GnupgVerdict, SignatureClass
from handlers.trust.signature import SignatureState
from handlers.trust.signing_trust import SigningTrust

LARGEST_PROVENANCE = 1024 * 1024
"""Bytes of a provenance file."""


class ChartArchive(NamedTuple):
    """An archive as it came."""

    chart: str
    version: str
    digest: str
    signers: Signers
    """Who has to have signed it."""


@dataclass(frozen=True, slots=True)
class ProvenanceChecks:
    """Checks messages against the keys that are trusted now."""

    gnupg: Gnupg
    trusted: Callable[[], SigningTrust]

    async def prove(
        self,
        downloader: Downloader,
        server: DownloadServer,
        request: DownloadRequest,
        archive: ChartArchive,
    ) -> None:
        """Read the file beside the archive that was requested, and check it.

        Raises RepositoryError unless a key of each group has signed the archive.
        """
        into, url = request.into.with_name("provenance"), _beside(request.url)
        wanted = replace(
            request,
            url=url,
            into=into,
            limit=LARGEST_PROVENANCE,
            what="the provenance file",
            expected=(HTTPStatus.OK, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND),
        )
        answer = await downloader.get(wanted)
        if answer.status != HTTPStatus.OK:
            cause = f"there is no provenance file at {str(url.with_query(None))[:200]}"
            raise _unproven(server, archive, cause)
        await self._check(server, archive, await asyncio.to_thread(into.read_bytes))

    async def _check(self, server: DownloadServer, archive: ChartArchive, content: bytes) -> None:
        try:
            message = clear_signed(content)
            signed = chart_provenance(message.lines)
        except ValueError as error:
            cause = f"its provenance file cannot be read: {error}"
            raise _unproven(server, archive, cause) from error
        try:
            verdict = await self.gnupg.check(
                message.payload,
                message.signature.encode(),
                self.trusted(),
                SignatureClass.TEXT,
            )
        except RenderError as error:
            raise RepositoryError(error.reason, error.message) from error
        except RendererBusyError as error:
            remedy = "Nothing is to be done: it is tried again"
            raise server.error(Reason.REPOSITORY_UNREACHABLE, error.message, remedy) from error
        if verdict.state is not SignatureState.GOOD:
            key = f" (key {verdict.key})" if verdict.key else ""
            raise _unproven(server, archive, f"its provenance file: {verdict.state}{key}")
        for group in archive.signers:
            if not _is_among(verdict, gnupg_keys_of(group)):
                text = f"its provenance file is signed with the key {verdict.key}"
                raise _unproven(server, archive, f"{text}, which the AppProject does not name")
        if (signed.name, signed.version) != (archive.chart, archive.version):
            text = f"its provenance file is of {signed.name[:100]} {signed.version[:100]}"
            raise _unproven(server, archive, text)
        if archive.digest not in signed.digests:
            text = f"its provenance file names another digest than {archive.digest}"
            raise _unproven(server, archive, text)


def _beside(archive: URL) -> URL:
    return archive.with_path(f"{archive.raw_path}.prov", encoded=True, keep_query=True)


def _unproven(server: DownloadServer, archive: ChartArchive, cause: str) -> RepositoryError:
    remedy = (
        "Publish the chart with `helm package --sign` and a key of argocd-gpg-keys-cm that the "
        "AppProject's annotation plumbline.dev/artifact-signers names under gpg, or correct it"
    )
    what = f"version {archive.version[:100]} is not proven: {cause}"
    return server.error(Reason.SOURCE_UNPROVEN, what, remedy)


def _is_among(verdict: GnupgVerdict, keys: tuple[str, ...]) -> bool:
    prints = (verdict.key.upper(), verdict.primary.upper())
    return any(one and one.endswith(key) for one in prints for key in keys)
