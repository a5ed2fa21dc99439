import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sandbox import SandboxReason, frames
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.requests import request_of
from tests.sandbox.recipes import directory, helm, kustomize

GO_REASONS = Path(__file__).parents[2] / "sandbox" / "reasons.go"


def test_reasons_are_those_of_the_worker() -> None:
    written = re.findall(r'Reason = "(\w+)"', GO_REASONS.read_text())
    assert sorted(written) == sorted(SandboxReason)


@pytest.mark.parametrize("reason", SandboxReason)
def test_every_reason_has_a_word_of_the_house(reason: SandboxReason) -> None:
    assert reason.reason


@given(body=st.binary(max_size=300), path=st.text(max_size=50))
def test_a_frame_can_be_taken_apart(body: bytes, path: str) -> None:
    frame = frames.encode(frames.Reply(kind="blob", path=path), body)
    head, size = frames.lengths(frame[:8], max_body=300)
    assert frames.decode(frame[8 : 8 + head]).path == path
    assert frame[8 + head :] == body
    assert size == len(body)


def test_a_frame_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(frames.FrameLimitError):
        frames.lengths(frames.LENGTHS.pack(10, 301), max_body=300)
    with pytest.raises(frames.FrameLimitError):
        frames.lengths(frames.LENGTHS.pack(2**31, 0), max_body=300)


def test_release_name_and_namespace_default_to_the_application() -> None:
    _, params = request_of(helm(passCredentials=True), SandboxLimits())
    assert (params["releaseName"], params["namespace"]) == ("shop", "prod")
    assert "passCredentials" not in params
    _, params = request_of(helm(releaseName="r", namespace="n"), SandboxLimits())
    assert (params["releaseName"], params["namespace"]) == ("r", "n")


def test_sources_keep_argo_cds_field_names() -> None:
    _, params = request_of(
        kustomize(namePrefix="a-", replicas=[{"name": "x", "count": "3"}]), SandboxLimits()
    )
    assert params["overrides"] == {"namePrefix": "a-", "replicas": [{"name": "x", "count": 3}]}
    op, params = request_of(directory(recurse=True), SandboxLimits())
    assert (op, params["recurse"]) == ("directory", True)
    assert msgspec.json.encode(params)
