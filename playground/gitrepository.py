"""One repository of a Git host as tests and the demo use it: commit, read, and announce.

A commit is written straight into the bare repository, which takes a millisecond, and is announced
like a push. Any thread may use it.
"""

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from playground import gitstore
from playground.gitstore import NOTHING, Changes, Sign
from playground.lfs import LfsStore
from playground.pushes import Parcel, PushPayload, PushWebhook, SentDelivery


class HostLogin(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    password: str


class HostedRepository:
    """Set `webhook` to have pushes announced; `deliveries` tells what became of them."""

    def __init__(
        self, name: str, url: str, folder: Path, branch: str, send: Callable[[Parcel], None]
    ) -> None:
        self.name = name
        self.url = url
        self.folder = folder
        self.branch = branch
        self.login: HostLogin | None = None
        self.lfs = LfsStore()
        self.webhook: PushWebhook | None = None
        self.deliveries: list[SentDelivery] = []
        self._send = send

    def commit(
        self,
        changes: Changes,
        *,
        branch: str = "",
        message: str = "change",
        sign: Sign | None = None,
    ) -> str:
        """As a push of one commit would: None removes a path; announced; returns its id."""
        before = self.references()
        made = gitstore.commit(self.folder, changes, branch or self.branch, message, sign)
        self.announce(before)
        return made

    def read(self, path: str, *, branch: str = "") -> bytes | None:
        return gitstore.read(self.folder, path, f"refs/heads/{branch or self.branch}")

    def head(self, branch: str = "") -> str:
        return self.references()[f"refs/heads/{branch or self.branch}"]

    def references(self) -> dict[str, str]:
        return gitstore.references(self.folder)

    def announce(self, before: Mapping[str, str]) -> None:
        """Queue a webhook for every reference that is not where it was before."""
        after = self.references()
        for name in sorted(before.keys() | after.keys()):
            old, new = before.get(name, NOTHING), after.get(name, NOTHING)
            if old != new and self.webhook is not None:
                self._post(self.webhook, self._push(name, old, new), str(uuid.uuid4()))

    def redeliver(self, delivery: SentDelivery) -> None:
        """The same push with the same delivery id, as a person can ask of a real host."""
        if self.webhook is not None:
            self._post(self.webhook, delivery.push, delivery.id)

    def _post(self, webhook: PushWebhook, push: PushPayload, delivery: str) -> None:
        self._send(
            Parcel(
                id=delivery,
                push=push,
                webhook=webhook,
                default_branch=self.branch,
                on_delivery=self.deliveries.append,
            )
        )

    def _push(self, reference: str, before: str, after: str) -> PushPayload:
        return PushPayload(
            repository=self.name,
            clone_url=self.url,
            reference=reference,
            before=before,
            after=after,
            forced=gitstore.is_forced(self.folder, before, after),
            commits=gitstore.commits_between(self.folder, before, after),
        )
