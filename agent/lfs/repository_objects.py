"""RepositoryObjects fetches objects of Git LFS by the batch API, and keeps them on the disk.

The login of the repository goes to its own host and to no other. A host may keep objects elsewhere
and say with which headers they are read there: these go to that server only, and over no redirect.
What arrives is believed by its digest, which stands in the commit. An object is kept beside the
mirror of its repository, so that it is served to those who may read that.
"""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from yarl import URL

from agent.download.downloader import Downloader, DownloadRequest, open_downloader
from agent.download.failures import DownloadServer
from agent.git.lfs_tree import LfsPointer, LfsReader
from agent.git.server_trust import ServerTrust
from agent.git.transport import Remote
from agent.lfs.batch import (
    LARGEST_ANSWER,
    MEDIA_TYPE,
    LfsAction,
    LfsRefusedError,
    action_of,
    batch_request,
)
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.ports import RepositoryError

_KEPT_BYTES = 1024 * 1024 * 1024
"""Of one repository; more than one render may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryObjects:
    """Implements agent.git.lfs_tree.LfsObjects."""

    folder: Path
    remote: Callable[[], Awaitable[Remote]]
    """The repository with a login of now."""
    trust: ServerTrust

    def kept(self, pointer: LfsPointer) -> bytes | None:
        """Read what was fetched; a machine that died may have left a file of other bytes."""
        try:
            content = self._file(pointer).read_bytes()
        except OSError:
            return None
        is_whole = len(content) == pointer.size
        return content if is_whole and sha256(content).hexdigest() == pointer.digest else None

    async def fetch(self, pointer: LfsPointer) -> None:
        """Raises RepositoryError."""
        remote = await self.remote()
        url, credential = remote.url, remote.credential
        server = DownloadServer(name=str(url), host=url.origin.host, credential=credential)
        if url.is_ssh:
            raise server.error(
                Reason.INVALID_SPEC,
                f"the object {pointer.digest} of LFS is read over https only",
                "Write the URL of the repository as https://, with a login for it",
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
                async with open_downloader(server, url.origin, self.trust) as downloader:
                    found = await self._object(downloader, url.with_suffix, pointer, Path(scratch))
                self._remove_oldest(pointer.size)
                found.rename(self._file(pointer))
        except OSError as error:
            raise server.disk_refused(error) from error

    async def _object(
        self, downloader: Downloader, url: RepositoryUrl, pointer: LfsPointer, scratch: Path
    ) -> Path:
        server, what = downloader.server, f"the object {pointer.digest} of LFS"
        batch = URL(f"{url}/info/lfs/objects/batch")
        request = DownloadRequest(
            url=batch,
            into=scratch / "answer",
            limit=LARGEST_ANSWER,
            what=f"the place of {what}",
            authorization=server.authorization,
            headers={"Accept": MEDIA_TYPE, "Content-Type": MEDIA_TYPE},
            body=batch_request(pointer.digest, pointer.size),
        )
        await downloader.get(request)
        try:
            action = action_of(request.into.read_bytes(), pointer.digest)
            place = _place(batch, action)
        except LfsRefusedError as error:
            raise _refused(server, what, error) from error
        has_own = any(name.lower() == "authorization" for name in action.header)
        answer = await downloader.get(
            DownloadRequest(
                url=place,
                into=scratch / "object",
                limit=pointer.size,
                what=what,
                authorization="" if has_own else server.authorization,
                first_headers=action.header,
            )
        )
        if answer.digest != f"sha256:{pointer.digest}" or answer.size != pointer.size:
            raise server.hostile(f"{what} came with the digest {answer.digest}")
        return scratch / "object"

    def _file(self, pointer: LfsPointer) -> Path:
        return self.folder / pointer.digest

    def _remove_oldest(self, size: int) -> None:
        """Remove the objects that were fetched first."""
        for _, other, file in sorted(_objects_in(self.folder), reverse=True):
            size += other
            if size > _KEPT_BYTES:
                file.unlink(missing_ok=True)


def _objects_in(folder: Path) -> Iterator[tuple[float, int, Path]]:
    for one in folder.iterdir():
        with suppress(OSError):
            if one.is_file():
                found = one.stat()
                yield found.st_mtime, found.st_size, one


def _place(batch: URL, action: LfsAction) -> URL:
    """The address of an object; raises LfsRefusedError."""
    if not (action.href.isascii() and action.href.isprintable()) or " " in action.href:
        raise LfsRefusedError("the answer names no address")
    try:
        place = batch.join(URL(action.href, encoded=True))
    except ValueError as error:
        raise LfsRefusedError("the answer names no address") from error
    if place.scheme not in (("https",) if batch.scheme == "https" else ("https", "http")):
        raise LfsRefusedError(f"the answer leads to {place.scheme[:20]!r}")
    if place.user or place.password:
        raise LfsRefusedError("the answer leads to a URL with a login")
    return place


def _refused(server: DownloadServer, what: str, error: LfsRefusedError) -> RepositoryError:
    if error.absent:
        return server.error(
            Reason.FILE_NOT_FOUND,
            f"the host has no {what.removeprefix('the ')}: {error}",
            "Push it from a clone that has it: git lfs push --all",
        )
    return server.error(
        Reason.REPOSITORY_UNREACHABLE,
        f"{what} is not given away: {error}",
        "Look whether LFS is on for this repository at its host; it is tried again",
    )


def lfs_reader(trust: ServerTrust) -> LfsReader:
    def objects(folder: Path, remote: Callable[[], Awaitable[Remote]]) -> RepositoryObjects:
        return RepositoryObjects(folder=folder, remote=remote, trust=trust)

    return objects
