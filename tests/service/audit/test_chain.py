from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from service.audit.audit_record import (
    HIDDEN,
    START,
    AuditEntry,
    ChainedRecord,
    chained,
    changed,
    deterministic_id,
    redacted,
)
from service.audit.verification import parse, walk

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def entry(number: int, **detail: object) -> AuditEntry:
    return AuditEntry(
        account="acme",
        id=f"id{number}",
        time=NOON + timedelta(seconds=number),
        actor="mira",
        action="application.sync",
        resource="argocd/shop",
        detail=detail,
    )


def chain(length: int) -> list[ChainedRecord]:
    records: list[ChainedRecord] = []
    for number in range(1, length + 1):
        previous = records[-1].hash if records else START
        records.append(chained(entry(number, n=number), number, previous))
    return records


def test_an_untouched_chain_is_intact() -> None:
    records = chain(5)
    verdict = walk(records)
    assert verdict.intact
    assert (verdict.records, verdict.head) == (5, records[-1].hash)


def test_an_empty_book_is_intact() -> None:
    assert walk([]).intact


def test_a_changed_record_is_named() -> None:
    records = chain(5)
    other = msgspec.structs.replace(records[2].entry, actor="somebody else")
    records[2] = msgspec.structs.replace(records[2], entry=other)
    verdict = walk(records)
    assert (verdict.intact, verdict.broken_at, verdict.records) == (False, 3, 2)
    assert "record 3 was changed" in verdict.reason


def test_a_changed_record_with_a_new_hash_breaks_the_next() -> None:
    records = chain(5)
    other = msgspec.structs.replace(records[2].entry, actor="somebody else")
    records[2] = chained(other, 3, records[1].hash)
    assert walk(records).broken_at == 4


@pytest.mark.parametrize("gone", [0, 1, 3])
def test_a_missing_record_is_named(gone: int) -> None:
    records = chain(5)
    del records[gone]
    verdict = walk(records)
    assert (verdict.intact, verdict.broken_at) == (False, gone + 1)


def test_an_exported_line_is_the_record() -> None:
    (record,) = chain(1)
    assert parse(msgspec.json.encode(record)) == record


def test_the_hash_does_not_depend_on_the_time_zone_it_is_read_in() -> None:
    (record,) = chain(1)
    elsewhere = record.entry.time.astimezone(None)
    moved = msgspec.structs.replace(record.entry, time=elsewhere)
    assert walk([msgspec.structs.replace(record, entry=moved)]).intact


def test_the_same_fact_has_the_same_id() -> None:
    assert deterministic_id("a", "b", "c") == deterministic_id("a", "b", "c")
    assert deterministic_id("a", "bc", "") != deterministic_id("a", "b", "c")


@pytest.mark.parametrize(
    "name", ["password", "sshPrivateKey", "bearer_token", "client-secret", "kubeconfig", "apiKey"]
)
def test_a_secret_is_hidden_wherever_it_stands(name: str) -> None:
    assert redacted({"spec": [{name: "x7canary"}]}) == {"spec": [{name: HIDDEN}]}


def test_a_reference_to_a_secret_is_no_secret() -> None:
    assert redacted({"secretRef": {"name": "repo"}}) == {"secretRef": {"name": "repo"}}


def test_a_url_loses_its_user() -> None:
    assert redacted("https://me:x7canary@git.example/r") == "https://git.example/r"


def test_before_and_after_hold_what_differs_only() -> None:
    assert changed({"name": "a", "region": "eu"}, {"name": "b", "region": "eu"}) == {
        "name": {"before": "a", "after": "b"}
    }
