"""Which annotation approves the deletions that began at a time."""

from __future__ import annotations

import pytest

from handlers.application.application import Application
from handlers.application.deletion_approval import DELETION_APPROVED, approved_since
from tests.unit.handlers.application.builders import application

BEGAN = "2026-03-01T10:00:00Z"


def approved(at: str) -> Application:
    return application(metadata={"annotations": {DELETION_APPROVED: at}})


@pytest.mark.parametrize(
    "at",
    [BEGAN, "2026-03-01T10:00:00.5Z", "2026-03-01T12:00:01+02:00", "2027-01-01T00:00:00Z"],
)
def test_a_time_that_is_not_before_the_begin_approves(at: str) -> None:
    assert approved_since(approved(at), BEGAN)


@pytest.mark.parametrize(
    "at",
    [
        "",
        "true",
        "2026-03-01T09:59:59Z",
        "2026-03-01T11:59:59+02:00",
        "2027-01-01",
        "2027-01-01T00:00:00",
        "2027-01-01 00:00:00Z",
        "2027-13-01T00:00:00Z",
        "20270101T000000Z",
        " 2027-01-01T00:00:00Z",
    ],
)
def test_an_earlier_time_or_anything_but_rfc_3339_approves_nothing(at: str) -> None:
    assert not approved_since(approved(at), BEGAN)


def test_nothing_is_approved_before_it_has_begun() -> None:
    assert not approved_since(approved("2027-01-01T00:00:00Z"), "")
    assert not approved_since(application(), BEGAN)
