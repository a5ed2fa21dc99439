"""Signatures, waits and targets of webhooks, as values."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

from service.live.webhook_deliveries import SIGNATURE, WAITS, next_try, signed

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_receiver_can_check_the_signature_with_the_secret() -> None:
    sent = signed("whsec_x", "d1", "drift.began", b'{"a":1}', 1700000000)
    time, _, signature = sent.headers[SIGNATURE].partition(",v1=")
    text = time.removeprefix("t=").encode() + b"." + sent.body
    assert signature == hmac.new(b"whsec_x", text, hashlib.sha256).hexdigest()


def test_tries_wait_longer_and_end() -> None:
    waits = [next_try(attempt, NOW) for attempt in range(1, len(WAITS) + 2)]
    assert waits[0] == NOW + timedelta(seconds=10)
    assert waits[:-1] == sorted(it for it in waits if it is not None)
    assert waits[-1] is None
