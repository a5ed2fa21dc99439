import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.client import SandboxReason, frames
from tests.paths import REPOSITORY

GO_REASONS = REPOSITORY / "sandbox/worker/internal/wire/reasons.go"


def test_reasons_are_those_of_the_worker() -> None:
    written = re.findall(r'Reason = "(\w+)"', GO_REASONS.read_text())
    assert sorted(written) == sorted(SandboxReason)


@given(body=st.binary(max_size=300), path=st.text(max_size=50))
def test_a_frame_can_be_taken_apart(body: bytes, path: str) -> None:
    frame = frames.encode(frames.WorkerReply(kind="blob", path=path), body)
    head, size = frames.lengths(frame[:8], max_body=300)
    assert frames.decode(frame[8 : 8 + head]).path == path
    assert frame[8 + head :] == body
    assert size == len(body)


def test_a_frame_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(frames.FrameLimitError):
        frames.lengths(frames.LENGTHS.pack(10, 301), max_body=300)
    with pytest.raises(frames.FrameLimitError):
        frames.lengths(frames.LENGTHS.pack(2**31, 0), max_body=300)
