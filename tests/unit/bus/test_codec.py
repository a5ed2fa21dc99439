import contextlib
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.envelope import MAX_EVENT_BYTES, DecodeError, Envelope, EventTooLargeError, decode, encode
from bus.events import Event, RefreshApp, RefreshNow, RefreshRepository, RenderFailed
from bus.events.event import UnknownTypeError, event_type, event_types, wire_type
from bus.events.examples import example_of
from bus.identity import AppKey
from bus.status import Reason
from bus.trace import Trace

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
HEADERS = {"ce-id": "1", "ce-type": "ask.render.v1"}
DATA = b'{"app":{"namespace":"argocd","name":"guestbook"}}'


def envelope_of(event: Event, **changes: object) -> Envelope:
    known = {"id": "1", "source": "/gitops/acme/prod1", "correlation": "0"}
    return Envelope(
        **{
            "type": wire_type(event),
            "subject": str(event.key),
            "time": datetime(2026, 11, 21, 8, 0, 0, 123456, tzinfo=UTC),
            **known,
            **changes,
        }
    )


@pytest.mark.parametrize("event", event_types(), ids=wire_type)
def test_every_event_and_its_envelope_come_back_from_the_wire(event: type[Event]) -> None:
    example = example_of(event)
    envelope = envelope_of(example, cause="0", trace=Trace.parse(TRACE, "vendor=1"))
    assert decode(envelope.to_headers(), encode(example)) == (envelope, example)


def test_an_ask_and_a_command_of_one_name_are_told_apart() -> None:
    assert event_type("ask.refresh.v1") is RefreshRepository
    assert event_type("cmd.refresh.v1") is RefreshNow


def test_no_two_events_share_a_wire_type() -> None:
    assert len({wire_type(event) for event in event_types()}) == len(event_types())


def test_a_field_we_do_not_know_is_ignored() -> None:
    data = b'{"app":{"namespace":"argocd","name":"guestbook","x":1},"tomorrow":[1,2]}'
    assert decode(HEADERS, data)[1] == RefreshApp(app=AppKey("argocd", "guestbook"))


def test_a_type_we_do_not_know_is_refused_by_name() -> None:
    with pytest.raises(UnknownTypeError, match="dance"):
        event_type("ask.dance.v1")
    with pytest.raises(DecodeError, match="dance"):
        decode(HEADERS | {"ce-type": "ask.dance.v1"}, DATA)


@pytest.mark.parametrize(
    ("headers", "data", "problem"),
    [
        (None, DATA, "ce-id"),
        ({"ce-id": "1"}, DATA, "ce-type"),
        (HEADERS | {"ce-time": "yesterday"}, DATA, "ce-time"),
        (HEADERS, b"{", "truncated"),
        (HEADERS, b'{"app":"guestbook"}', "app"),
        (HEADERS, b"\xff\xfe", "malformed|utf-8|invalid"),
    ],
    ids=["no headers", "no type", "bad time", "cut off", "wrong field", "no text"],
)
def test_what_is_no_event_is_refused_with_what_is_wrong(
    headers: dict[str, str] | None, data: bytes, problem: str
) -> None:
    with pytest.raises(DecodeError, match=problem):
        decode(headers, data)


@given(st.binary(max_size=200), st.dictionaries(st.text(max_size=10), st.text(max_size=50)))
def test_any_bytes_are_an_event_or_a_decode_error(data: bytes, headers: dict[str, str]) -> None:
    with contextlib.suppress(DecodeError):
        assert isinstance(decode(HEADERS | headers, data)[1], RefreshApp)


def test_an_event_that_carries_state_is_not_said() -> None:
    fact = RenderFailed(app=AppKey("a", "b"), reason=Reason.YAML_INVALID, message="x" * 8192)
    with pytest.raises(EventTooLargeError, match=str(MAX_EVENT_BYTES)):
        encode(fact)


def test_defaults_are_not_on_the_wire() -> None:
    assert msgspec.json.decode(encode(RefreshApp(app=AppKey("a", "b")))) == {
        "app": {"namespace": "a", "name": "b"}
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "junk",
        TRACE.upper(),
        "ff" + TRACE[2:],
        TRACE.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
        TRACE.replace("00f067aa0ba902b7", "0" * 16),
    ],
)
def test_an_invalid_trace_is_no_trace(text: str) -> None:
    assert Trace.parse(text) is None


def test_a_hop_is_a_child_in_the_same_trace() -> None:
    trace = Trace.parse(TRACE, "vendor=1")
    assert trace is not None
    child = trace.child()
    assert (child.trace_id, child.flags, child.state) == (trace.trace_id, "01", "vendor=1")
    assert child.span_id != trace.span_id
    assert Trace.parse(str(child), child.state) == child
