from __future__ import annotations

import msgspec

from bus.events import Compared
from bus.events.facts import DriftedObject
from bus.identity import AppKey, Revision
from bus.status import SyncStatus
from handlers.compare import details
from handlers.comparison.comparison import PairState
from tests.unit.handlers.sync.builders import comparison, key, live, manifest

A, CHANGED = manifest("a"), manifest("a", "2")


def test_a_changed_object_says_its_fields_and_who_wrote_last() -> None:
    seen = comparison((A,), (live(CHANGED, written_by="kubectl-edit"),))
    (detail,) = details(seen.pairs)
    assert detail.object == str(key("a"))
    assert detail.fields
    assert detail.manager == "kubectl-edit"
    assert '"2"' not in msgspec.json.encode(detail).decode()


def test_a_missing_object_has_neither_fields_nor_manager() -> None:
    (detail,) = details(comparison((A,)).pairs)
    assert detail == DriftedObject(object=str(key("a")))


def test_a_fact_stays_below_its_limit_however_long_the_names_are() -> None:
    names = [f"{number}-{'x' * 240}" for number in range(30)]
    seen = comparison(tuple(manifest(name) for name in names))
    drifted = seen.of(PairState.MISSING)
    fact = Compared(
        app=AppKey("n", "a"),
        status=SyncStatus.OUT_OF_SYNC,
        revision=Revision("a" * 40),
        drifted=tuple(str(one.key) for one in drifted[:10]),
        details=details(drifted),
    )
    assert 0 < len(fact.details) <= 10
    assert len(msgspec.json.encode(fact)) < 8192
