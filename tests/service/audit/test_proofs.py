"""Whoever owns the audit's table and rewrites it is found out: by signatures, and by agents."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import asyncpg
import msgspec
import pytest
from sqlalchemy import select

from agent.bridge.identity.audit_heads import AuditWitness, HeadRefusedError, with_head
from bus.identity import new_id
from bus.link import (
    KEPT_HEADS,
    AuditHead,
    HeadSignature,
    Hello,
    KeepHead,
    KeptHeads,
    head_statement,
)
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, ChainedRecord, chained
from service.gateway.connection import step
from service.gateway.effects import ClockTick, SendAuditHead
from service.gateway.link_opening import OpenedLink
from service.gateway.link_state import SessionTerms, new_link
from service.gateway.sessions import SessionHolder
from service.key_management.adoption import sign_all
from service.keys.key_file import (
    KeyFile,
    generate,
    open_key_file,
    replace,
    with_new_key,
    with_only_current,
)
from service.keys.root_key import new_root_key
from service.lifecycle import now
from service.projection.batch import BatchScope
from service.store.tables import accounts, audit_anchors
from tests.service.fake_agent import AgentConnection, FakeOutbox, connect
from tests.service.service_fixture import RunningService, open_service, settings

MANY = 100
CUT = "DELETE FROM audit WHERE sequence >"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns the table: the trigger is no hindrance."""

    connection: asyncpg.Connection

    async def does(self, *statements: str) -> None:
        await self.connection.execute("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
        for statement in statements:
            await self.connection.execute(statement)
        await self.connection.execute("ALTER TABLE audit ENABLE TRIGGER audit_append_only")

    async def remake(self, records: list[ChainedRecord], since: int, *, signatures: bool) -> None:
        """The chain from `since` on anew, as it would be if the records said what they say now."""
        previous = records[since - 2].hash if since > 1 else "0" * 64
        await self.connection.execute("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
        for record in records[since - 1 :]:
            made = chained(record.entry, record.sequence, previous)
            previous = made.hash
            await self.connection.execute(
                "UPDATE audit SET actor = $1, previous = $2, hash = $3, signature = $4, key_id = $5"
                " WHERE sequence = $6",
                made.entry.actor,
                made.previous,
                made.hash,
                record.signature if signatures else "",
                record.key_id if signatures else "",
                made.sequence,
            )
        await self.connection.execute("ALTER TABLE audit ENABLE TRIGGER audit_append_only")


@pytest.fixture
async def running_service(database_url: str) -> AsyncIterator[RunningService]:
    async with open_service(settings(database_url, roots_seconds=0.2)) as service:
        yield RunningService(service)


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[Owner]:
    connection = await asyncpg.connect(database_url, timeout=180)
    yield Owner(connection)
    await connection.close()


async def account_of(running_service: RunningService) -> str:
    async with running_service.service.dependencies.engine.connect() as connection:
        return str((await connection.execute(select(accounts.c.id))).scalar_one())


async def write(running_service: RunningService, count: int) -> list[ChainedRecord]:
    """`count` more records; all that there are."""
    account = await account_of(running_service)
    async with running_service.service.dependencies.engine.begin() as connection:
        await audit_book.record_all(connection, [entry(account) for _ in range(count)])
        return list(await audit_book.after(connection, account, 0, 10_000))


def entry(account: str) -> AuditEntry:
    return AuditEntry(
        account=account,
        id=new_id(),
        time=now(),
        actor="mira",
        action="application.sync",
        resource="argocd/shop",
    )


async def verified(running_service: RunningService) -> dict[str, Any]:
    status, body = await running_service.call("GET", "/audit/verify")
    assert status == 200, body
    found: dict[str, Any] = body
    return found


async def kept_by(
    link: AgentConnection,
    running_service: RunningService,
    witness: AuditWitness = AuditWitness(),  # noqa: B008  a value
) -> AuditWitness:
    """What a true agent keeps of the newest head; told to the service."""
    head = (await link.until(KeepHead)).head
    witness = with_head(witness, head)
    await link.send(KeptHeads(heads=witness.heads))
    await link.put([FakeOutbox().fact("drift.began.v1", "argocd/x", {})])
    return witness


async def test_an_untouched_audit_is_signed_to_its_end(running_service: RunningService) -> None:
    records = await write(running_service, MANY)
    assert {it.key_id for it in records} == {
        running_service.service.dependencies.keys.ring.current.id
    }
    found = await verified(running_service)
    assert (found["ok"], found["signed"], found["entries"]) == (True, True, len(records))


async def test_the_newest_fifty_cut_off_are_missed_by_an_agent(
    running_service: RunningService, owner: Owner
) -> None:
    identity = await running_service.enrolled()
    records = await write(running_service, MANY)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        witness = await kept_by(link, running_service)
    assert witness.heads[-1].sequence == len(records)
    assert (await verified(running_service))["anchors"] == 1
    left = len(records) - 50
    await owner.does(f"{CUT} {left}")
    found = await verified(running_service)
    assert (found["ok"], found["brokenAt"]) == (False, left + 1)
    assert f"record {left + 1} is missing: agent prod keeps the signed head" in found["reason"]


async def test_an_anchor_deleted_with_the_records_comes_back_with_its_agent(
    running_service: RunningService, owner: Owner
) -> None:
    identity = await running_service.enrolled()
    records = await write(running_service, MANY)
    async with connect(identity) as link:
        await link.hello(identity, "e")
        witness = await kept_by(link, running_service)
    left = len(records) - 50
    await owner.does(f"{CUT} {left}", "DELETE FROM audit_anchors")
    await write(running_service, 60)  # the service goes on, and the numbers are taken again
    async with connect(identity) as link:
        await link.hello(identity, "e", heads=witness.heads)
        known = await link.until(KeepHead)
        assert known.head.sequence > len(records)
    found = await verified(running_service)
    assert (found["ok"], found["brokenAt"]) == (False, len(records))
    assert "agent prod keeps" in found["reason"]


@pytest.mark.parametrize("signatures", [True, False], ids=["kept", "taken off"])
async def test_twenty_changed_actors_under_remade_hashes_are_found(
    running_service: RunningService, owner: Owner, *, signatures: bool
) -> None:
    records = await write(running_service, MANY)
    changed = [
        msgspec.structs.replace(it, entry=msgspec.structs.replace(it.entry, actor="nobody"))
        if 40 <= it.sequence < 60
        else it
        for it in records
    ]
    await owner.remake(changed, 40, signatures=signatures)
    found = await verified(running_service)
    assert (found["ok"], found["brokenAt"]) == (False, 40), found["reason"]


async def test_a_chain_made_anew_without_any_signature_is_found(
    running_service: RunningService, owner: Owner
) -> None:
    records = await write(running_service, MANY)
    await owner.remake(records, 1, signatures=False)
    found = await verified(running_service)
    assert (found["ok"], found["brokenAt"]) == (False, 1)
    assert "no record is signed" in found["reason"]


async def test_the_service_vouches_for_nothing_that_follows_what_it_did_not_sign(
    running_service: RunningService, owner: Owner
) -> None:
    records = await write(running_service, 3)
    await owner.remake(records, 1, signatures=False)
    more = await write(running_service, 3)
    assert {it.signature for it in more} == {""}
    async with running_service.service.dependencies.engine.begin() as connection:
        assert await sign_all(connection, now(), "looked at") == ["default"]
    assert (await verified(running_service))["ok"]
    assert (await write(running_service, 1))[-1].signature


async def test_what_an_agent_gives_back_counts_only_where_we_signed_it(
    running_service: RunningService,
) -> None:
    identity, account = await running_service.enrolled(), await account_of(running_service)
    await write(running_service, 3)
    forged = AuditHead(account=account, sequence=999, hash="0" * 64)
    async with connect(identity) as link:
        await link.hello(identity, "e", heads=(forged,))
        head = (await link.until(KeepHead)).head
        later = msgspec.structs.replace(head, sequence=1000)
        other = msgspec.structs.replace(head, account="another")
        await link.send(KeptHeads(heads=(later, other)))
        await link.put([FakeOutbox().fact("drift.began.v1", "argocd/x", {})])
    assert await running_service.rows(audit_anchors) == []


@pytest.mark.parametrize(("newest", "known"), [(1, False), (2, True)])
def test_heads_are_sent_only_to_agents_that_know_them(newest: int, *, known: bool) -> None:
    caller = SessionHolder(
        account_id="a", account="a", agent_id="p", agent="p", expires_at=10_000.0
    )
    hello = Hello(
        account="a", agent="p", instance="i", epoch="e", protocol=(1, newest), version="1"
    )
    scope = BatchScope(
        account_id="a", agent_id="p", agent="p", environment="", region="", epoch="e"
    )
    link = step(new_link(caller, SessionTerms(), 0.0), hello, 0.0).link
    opened = step(link, OpenedLink(scope=scope, fence=1, cursor=0), 1.0)
    later = step(msgspec.structs.replace(opened.link, heard_at=100.0), ClockTick(), 100.0)
    seen = [any(isinstance(it, SendAuditHead) for it in made.effects) for made in (opened, later)]
    assert seen == [known, known]


# --- what an agent keeps, as values ---------------------------------------------------------------


def head_of(keys: KeyFile, sequence: int, hash_: str = "a" * 64) -> AuditHead:
    message = head_statement("acme", sequence, hash_)
    return AuditHead(
        account="acme",
        sequence=sequence,
        hash=hash_,
        signatures=tuple(
            HeadSignature(public_key=key.public.text, signature=key.sign(message))
            for key in keys.ring.secret
        ),
    )


@pytest.fixture
def keys(tmp_path: Any) -> KeyFile:
    generate(tmp_path / "service.key")
    return open_key_file(tmp_path / "service.key")


def test_heads_only_grow_and_stay_few(keys: KeyFile) -> None:
    kept = AuditWitness()
    for sequence in range(1, 200):
        kept = with_head(kept, head_of(keys, sequence))
        assert len(kept.heads) <= KEPT_HEADS
    sequences = [it.sequence for it in kept.heads]
    assert sequences == sorted(sequences)
    assert (sequences[0], sequences[-1]) == (1, 199)
    assert max(later - it for it, later in pairwise(sequences)) < 150


@pytest.mark.parametrize("sequence", [1, 6, 7], ids=["far back", "back", "the same, changed"])
def test_a_head_that_takes_something_back_is_refused(keys: KeyFile, sequence: int) -> None:
    kept = with_head(AuditWitness(), head_of(keys, 7))
    with pytest.raises(HeadRefusedError, match=re.escape("cut or made anew")):
        with_head(kept, head_of(keys, sequence, "b" * 64))


def test_a_strangers_head_is_refused(keys: KeyFile, tmp_path: Any) -> None:
    generate(tmp_path / "other.key")
    kept = with_head(AuditWitness(), head_of(keys, 7))
    with pytest.raises(HeadRefusedError, match="no key of the service that is known here"):
        with_head(kept, head_of(open_key_file(tmp_path / "other.key"), 8))


def test_a_new_key_is_known_by_what_the_old_one_signed_too(keys: KeyFile) -> None:
    kept = with_head(AuditWitness(), head_of(keys, 7))
    replace(keys.path, with_new_key(keys.ring, new_root_key()))
    kept = with_head(kept, head_of(keys, 8))
    replace(keys.path, with_only_current(keys.ring))
    assert with_head(kept, head_of(keys, 9)).heads[-1].sequence == 9
