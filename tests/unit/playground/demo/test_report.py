"""The report of the demo is a promise to scripts."""

import msgspec
import pytest

from playground.demo.stage import StageOutcome, StageReport


def stage(*, held: bool) -> StageOutcome:
    return StageOutcome(name="push", expected="it is live", seen="it is", held=held, ms=12)


@pytest.mark.parametrize("held", [(True, True), (True, False), (False, True)])
def test_the_demo_holds_only_if_every_stage_held(held: tuple[bool, ...]) -> None:
    assert StageReport(stages=tuple(stage(held=one) for one in held)).held is all(held)


def test_a_report_has_the_promised_fields() -> None:
    written = msgspec.json.decode(msgspec.json.encode(StageReport(stages=(stage(held=False),))))
    assert written == {
        "stages": [
            {"name": "push", "expected": "it is live", "seen": "it is", "held": False, "ms": 12}
        ]
    }
