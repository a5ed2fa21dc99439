"""GitSignatures checks the signatures of commits and tags in the mirrors: the port `Signatures`.

A checked signature is remembered with the keys that it was checked against, for as long as the
signature and its key hold; so a push costs one check, also where the whole history counts.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from agent.git.gnupg import Gnupg
from agent.git.mirrors import Mirrors
from agent.git.refs import TAGS
from agent.git.signed_history import commits_to_seals, read_signed, tag_object
from bus.identity import Revision
from handlers.ports import RendererBusyError, RepositoryAccess
from handlers.ports.signatures import TagMovedError
from handlers.trust.signature import SignatureCheck, SignatureState
from handlers.trust.signed_object import BEGIN_SSH, SignedObject
from handlers.trust.signing_trust import SigningTrust
from handlers.trust.ssh_check import checked_ssh

_KEPT = 100_000
_KEPT_HISTORIES = 8
_MOST_BAD = 20
"""Signatures that are not good, after which no other one is looked at."""
_MAY_CHANGE = (SignatureState.UNREADABLE, SignatureState.KEY_EXPIRED)
"""A clock that is behind, or a program that was killed, may be the cause: never remembered."""
_BUDGET = 30.0
"""Seconds of one call; what is checked by then is remembered, and the rest comes next."""
_AGAIN = 0.5
_AT_ONCE = 500
"""Commits whose checks are known, after which others get a turn."""


class GitSignatures:
    def __init__(self, mirrors: Mirrors, gnupg: Gnupg, trusted: Callable[[], SigningTrust]) -> None:
        self._mirrors = mirrors
        self._gnupg = gnupg
        self._trusted = trusted
        self._checked: OrderedDict[tuple[str, str, str], SignatureCheck] = OrderedDict()
        self._histories: OrderedDict[tuple[RepositoryAccess, Revision], tuple[str, ...]] = (
            OrderedDict()
        )
        self._walking = asyncio.Lock()

    @property
    def trust(self) -> str:
        return self._trusted().fingerprint

    @property
    def trust_problem(self) -> str:
        return self._trusted().problem

    async def checks(
        self,
        repository: RepositoryAccess,
        revision: Revision,
        *,
        targets: Sequence[str],
        strict: bool,
    ) -> tuple[SignatureCheck, ...]:
        trust, tag = self._trusted(), await self._tag(repository, revision, targets)
        found: list[SignatureCheck] = []
        if tag is not None:
            found.append(await self._check(repository, tag[1], trust, tag=tag[0]))
        if tag is not None and not strict:
            return tuple(found)
        commits = await self._history(repository, revision) if strict else (revision,)
        began = time.monotonic()
        bad = sum(one.state is not SignatureState.GOOD for one in found)
        for number, commit in enumerate(commits):
            found.append(await self._check(repository, commit, trust))
            bad += found[-1].state is not SignatureState.GOOD
            if bad >= _MOST_BAD:
                break
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
            if time.monotonic() - began > _BUDGET:
                text = f"signatures are checked: {number + 1} of {len(commits)} commits so far"
                raise RendererBusyError(text, after=_AGAIN)
        return tuple(found)

    async def _tag(
        self, repository: RepositoryAccess, revision: Revision, targets: Sequence[str]
    ) -> tuple[str, str] | None:
        """Name and id of the annotated tag that one of the targets names, of this revision.

        The first target is the one that the revision was resolved of: a tag of another commit has
        moved since then, and its signature says nothing about this one.
        """
        for number, target in enumerate(targets):
            name = await self._mirrors.tag_named(repository, target)
            found = await self._mirrors.look(repository, partial(tag_object, name=name))
            if found is None:
                continue
            if found[1] == revision:
                return name, found[0]
            if number == 0:
                raise TagMovedError(target)
        return None

    async def _history(self, repository: RepositoryAccess, revision: Revision) -> tuple[str, ...]:
        """Walk a history once, however many Applications are rendered of it."""
        key = (repository, revision)
        async with self._walking:
            if key not in self._histories:
                self._histories[key] = await self._mirrors.look(
                    repository, partial(commits_to_seals, revision=revision)
                )
                if len(self._histories) > _KEPT_HISTORIES:
                    self._histories.popitem(last=False)
            return self._histories[key]

    async def _check(
        self, repository: RepositoryAccess, oid: str, trust: SigningTrust, *, tag: str = ""
    ) -> SignatureCheck:
        key = (oid, tag, trust.fingerprint)
        known = self._checked.get(key)
        if known is not None and not 0 < known.until <= time.time():
            return known
        signed = await self._mirrors.look(repository, partial(read_signed, oid=oid))
        checked = await self._verdict(oid, signed, trust, tag)
        if checked.state in _MAY_CHANGE:
            return checked
        self._checked[key] = checked
        if len(self._checked) > _KEPT:
            self._checked.popitem(last=False)
        return checked

    async def _verdict(
        self, oid: str, signed: SignedObject, trust: SigningTrust, tag: str
    ) -> SignatureCheck:
        name = tag.removeprefix(TAGS)
        about = SignatureCheck(
            id=oid, tag=name, author=signed.author, state=SignatureState.UNREADABLE
        )
        if not signed.signature:
            return replace(about, state=SignatureState.UNSIGNED)
        if signed.ambiguous:
            return about
        if tag and signed.tag != name:
            return replace(about, state=SignatureState.RENAMED)
        if signed.signature.startswith(BEGIN_SSH):
            return checked_ssh(about, signed, trust.signers, time.time())
        found = await self._gnupg.check(signed.payload, signed.signature, trust)
        until = found.expires if found.state is SignatureState.GOOD else 0.0
        return replace(about, state=found.state, key=found.key, primary=found.primary, until=until)
