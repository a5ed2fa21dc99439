"""Registry reads one repository of an OCI registry: manifests, blobs and tags, all verified.

A login is made when the registry challenges: with a password, or with a token for reading this one
repository that the realm of the challenge gives away. The scope is ours, never the registry's. A
blob may be redirected to a storage elsewhere, which gets no login.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from yarl import URL

from agent.download.downloader import (
    DownloadAnswer,
    Downloader,
    DownloadRequest,
    OverloadedError,
    open_downloader,
)
from agent.download.failures import DownloadServer
from agent.git.server_trust import ServerTrust
from agent.oci.answers import (
    MOST_TAGS,
    TOKEN_SECONDS,
    RegistryAnswerError,
    RegistryToken,
    tags_of,
    token_of,
)
from agent.oci.challenge import LoginChallenge, LoginScheme, challenge_of
from agent.oci.manifest import MANIFEST_TYPES
from agent.oci.registry_logins import elsewhere
from bus.address import AddressError, Origin
from bus.identity import Digest
from bus.status import Reason
from handlers.ports import RepositoryError

_MANIFEST_BYTES = 4 * 1024 * 1024
_PAGE = 1000
_PAGE_BYTES = 8 * 1024 * 1024
_MOST_PAGES = 400
_TAGS_SECONDS = 90.0
_TOKEN_BYTES = 1024 * 1024
_EARLY = 10
_NEXT = re.compile(r'<([^>]{1,4096})>\s*;[^,]{0,200}rel="?next"?')


class AbsentError(Exception):
    """The registry has nothing of this name."""


@dataclass(slots=True, kw_only=True)
class Registry:
    """One repository; its login is kept in memory."""

    base: URL
    """`https://host:port/v2/name`."""
    name: str
    trust: ServerTrust
    folder: Path
    """For files that are gone after each request."""
    sign_in: Callable[[DownloadServer], Awaitable[DownloadServer]]
    """Gets a login of now where the Secret says who issues one."""
    _authorization: str = field(default="", repr=False)
    _valid_until: float = 0.0
    _wait_until: float = -float("inf")
    _overloaded: RepositoryError | None = None

    async def manifest(self, server: DownloadServer, reference: str) -> tuple[Digest, bytes]:
        """Read a manifest by tag or digest; AbsentError, RepositoryError."""
        with self._scratch() as folder:
            request = DownloadRequest(
                url=self.base / "manifests" / reference,
                into=Path(folder) / "manifest",
                limit=_MANIFEST_BYTES,
                what=f"the manifest {reference[:100]}",
                headers={"Accept": ", ".join(MANIFEST_TYPES)},
            )
            answer = await self._get(server, request)
            if answer.status == 404:
                raise AbsentError(reference)
            named = answer.headers.get("docker-content-digest", "")
            named = reference if reference.startswith("sha256:") else named
            if named.startswith("sha256:") and answer.digest != named:
                cause = f"{request.what} has the digest {answer.digest}, expected {named[:100]}"
                raise server.hostile(cause)
            return answer.digest, await asyncio.to_thread(request.into.read_bytes)

    async def blob(self, server: DownloadServer, digest: str, into: Path, limit: int) -> None:
        """Write a blob to a file, verified; raises RepositoryError."""
        what = f"the layer {digest[:100]}"
        request = DownloadRequest(
            url=self.base / "blobs" / digest, into=into, limit=limit, what=what
        )
        answer = await self._get(server, request)
        if answer.status == 404:
            raise server.refused(404, what)
        if answer.digest != digest:
            raise server.hostile(f"{what} came with the digest {answer.digest}")

    async def ping(self, server: DownloadServer) -> None:
        """Ask the registry itself, logged in where it wants that; raises RepositoryError."""
        with self._scratch() as folder:
            request = DownloadRequest(
                url=self.base.origin() / "v2" / "",
                into=Path(folder) / "ping",
                limit=_PAGE_BYTES,
                what="the registry",
            )
            await self._get(server, request)

    async def tags(self, server: DownloadServer) -> tuple[str, ...]:
        """List all tags, page by page; AbsentError, RepositoryError."""
        try:
            async with asyncio.timeout(_TAGS_SECONDS):
                return await self._all_tags(server)
        except TimeoutError:
            cause = f"its list of tags did not come within {_TAGS_SECONDS:g} s"
            raise server.unreachable(cause) from None

    async def _all_tags(self, server: DownloadServer) -> tuple[str, ...]:
        found: list[str] = []
        url: URL | None = (self.base / "tags" / "list").with_query(n=str(_PAGE))
        for _ in range(_MOST_PAGES):
            if url is None:
                return tuple(found)
            page, url = await self._page(server, url)
            found += page
            if len(found) > MOST_TAGS:
                break
        raise server.hostile(f"it has more than {MOST_TAGS} tags, or sends pages without end")

    async def _page(self, server: DownloadServer, url: URL) -> tuple[tuple[str, ...], URL | None]:
        with self._scratch() as folder:
            what, into = "its list of tags", Path(folder) / "tags"
            request = DownloadRequest(url=url, into=into, limit=_PAGE_BYTES, what=what)
            answer = await self._get(server, request)
            if answer.status == 404:
                raise AbsentError("tags")
            content = await asyncio.to_thread(into.read_bytes)
        try:
            tags = tags_of(content)
        except RegistryAnswerError as error:
            raise server.hostile(str(error)) from error
        return tags, self._next(server, url, answer.headers)

    def _next(self, server: DownloadServer, url: URL, headers: Mapping[str, str]) -> URL | None:
        found = _NEXT.search(headers.get("link", "")[:8192])
        if found is None:
            return None
        led = url.join(URL(found[1]))
        if led.origin() != self.base.origin() or led.path != url.path:
            raise server.hostile("the next page of its tags is somewhere else")
        return led

    async def _get(self, server: DownloadServer, request: DownloadRequest) -> DownloadAnswer:
        """Fetch, logged in where the registry wants it; 404 is an answer. RepositoryError."""
        if self._overloaded is not None and time.monotonic() < self._wait_until:
            raise RepositoryError(self._overloaded.reason, self._overloaded.message)
        try:
            async with self._downloader(server, self.base) as downloader:
                return await self._logged_in(server, downloader, request)
        except OverloadedError as error:
            self._overloaded, self._wait_until = error, time.monotonic() + error.seconds
            raise

    async def _logged_in(
        self, server: DownloadServer, downloader: Downloader, request: DownloadRequest
    ) -> DownloadAnswer:
        known = self._authorization if time.monotonic() < self._valid_until else ""
        ask = replace(request, authorization=known, expected=(200, 401, 404))
        answer = await downloader.get(ask)
        if answer.status != 401:
            return answer
        challenge = challenge_of([answer.headers.get("www-authenticate", "")])
        if challenge is None:
            raise server.refused(401, request.what)
        await self._login(server, challenge)
        return await downloader.get(
            replace(request, authorization=self._authorization, expected=(200, 404))
        )

    async def _login(self, server: DownloadServer, challenge: LoginChallenge) -> None:
        self._authorization = ""
        server = await self.sign_in(server)
        if challenge.scheme is LoginScheme.BASIC:
            self._authorization = server.authorization
            self._valid_until = float("inf") if self._authorization else 0.0
            return
        began = time.monotonic()
        found = await self._token(server, challenge)
        self._authorization = f"Bearer {found.text}"
        self._valid_until = began + max(found.expires_in, TOKEN_SECONDS) - _EARLY

    async def _token(self, server: DownloadServer, challenge: LoginChallenge) -> RegistryToken:
        realm = self._realm(server, challenge.realm)
        scope = f"repository:{self.name}:pull" if self.name else ""
        query = {"service": challenge.service, "scope": scope}
        url = realm.update_query({name: value for name, value in query.items() if value})
        asked = server if realm.host == self.base.host else elsewhere(server)
        with self._scratch() as folder:
            request = DownloadRequest(
                url=url,
                into=Path(folder) / "token",
                limit=_TOKEN_BYTES,
                what="the token for reading it",
                authorization=server.authorization,
            )
            async with self._downloader(asked, url) as downloader:
                await downloader.get(request)
            content = await asyncio.to_thread(request.into.read_bytes)
        try:
            return token_of(content)
        except RegistryAnswerError as error:
            raise server.hostile(str(error)) from None

    def _realm(self, server: DownloadServer, text: str) -> URL:
        """Read where tokens are given away; a login never goes there without TLS."""
        try:
            realm = URL(text)
        except ValueError:
            realm = URL()
        schemes = ("https",) if self.base.scheme == "https" else ("https", "http")
        if realm.scheme not in schemes or not realm.host or realm.user or realm.fragment:
            cause = f"its realm is {text[:200]!r}; expected an address of {' or '.join(schemes)}"
            raise server.hostile(cause)
        return realm

    @asynccontextmanager
    async def _downloader(self, server: DownloadServer, url: URL) -> AsyncIterator[Downloader]:
        try:
            origin = Origin.parse(url.scheme, url.authority)
        except AddressError as error:
            raise server.error(Reason.INVALID_SPEC, str(error), "Correct the URL") from error
        async with open_downloader(server, origin, self.trust) as opened:
            yield opened

    def _scratch(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory(dir=self.folder)
