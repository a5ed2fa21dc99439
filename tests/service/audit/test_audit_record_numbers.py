"""Numbers in the details of the audit come back from the database as they were hashed."""

from __future__ import annotations

import pytest

from service.audit.audit_record import redacted


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (3, 3),
        (-(2**53), -(2**53)),
        (2**53 + 1, "9007199254740993"),
        (1.0, "1.0"),
        (1e300, "1e+300"),
        (True, True),
        (None, None),
    ],
)
def test_a_number_that_the_database_writes_otherwise_is_kept_as_text(
    number: object, kept: object
) -> None:
    assert redacted({"patch": [number]}) == {"patch": [kept]}
    assert type(redacted(number)) is type(kept)
