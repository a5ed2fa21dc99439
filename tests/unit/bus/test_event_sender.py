from datetime import UTC, datetime

import pytest

from bus.envelope import Envelope
from bus.event_sender import EventOrigin, EventSender
from bus.events import Event, RefreshApp, RenderFailed, SyncApp
from bus.identity import AppKey
from bus.status import Reason
from bus.subjects import AgentScope
from bus.trace import Trace

SENDER = EventSender(AgentScope("acme", "prod1"))
APP = AppKey("argocd", "guestbook")
SPAN = Trace.start()
ASKED = Envelope(
    id="ask-1",
    source="/gitops/acme/prod1",
    type="ask.render.v1",
    subject=str(APP),
    time=datetime(2026, 11, 21, tzinfo=UTC),
    correlation="push-1",
)
CAUSE = EventOrigin(envelope=ASKED, handler="render", span=SPAN)


def failed(message: str = "line 3") -> RenderFailed:
    return RenderFailed(app=APP, reason=Reason.YAML_INVALID, message=message)


def message_ids(cause: EventOrigin, *events: Event) -> list[str]:
    return [message.headers["Nats-Msg-Id"] for message in SENDER.results(cause, events)]


def event_ids(cause: EventOrigin, *events: Event) -> list[str]:
    return [message.headers["ce-id"] for message in SENDER.results(cause, events)]


def test_a_result_is_named_after_its_cause_its_handler_and_its_place() -> None:
    first, second = message_ids(CAUSE, failed(), RefreshApp(app=APP))
    assert first.startswith("ask-1:render:0:")
    assert second.startswith("ask-1:render:1:")


def test_a_second_run_with_the_same_results_repeats_their_ids() -> None:
    assert message_ids(CAUSE, failed()) == message_ids(CAUSE, failed())
    assert event_ids(CAUSE, failed()) == event_ids(CAUSE, failed())


@pytest.mark.parametrize(
    ("cause", "event"),
    [
        (CAUSE, failed("line 4")),
        (CAUSE, RefreshApp(app=APP)),
        (EventOrigin(envelope=ASKED, handler="compare", span=SPAN), failed()),
        (EventOrigin(envelope=ASKED, handler="render", span=SPAN, turn=2), failed()),
    ],
    ids=["other content", "other event", "other handler", "said before a later retry"],
)
def test_what_is_not_a_repeat_has_an_id_of_its_own(cause: EventOrigin, event: Event) -> None:
    assert message_ids(cause, event) != message_ids(CAUSE, failed())
    assert event_ids(cause, event) != event_ids(CAUSE, failed())


def test_two_equal_results_of_one_run_are_two_messages() -> None:
    assert len(set(message_ids(CAUSE, failed(), failed()))) == 2


def test_a_result_inherits_the_chain_and_names_its_cause() -> None:
    (message,) = SENDER.results(CAUSE, [failed()])
    envelope = Envelope.from_headers(message.headers)
    assert (envelope.correlation, envelope.cause, envelope.trace) == ("push-1", "ask-1", SPAN)


def test_a_first_event_begins_a_chain_of_its_own() -> None:
    message = SENDER.first(RefreshApp(app=APP), correlation="", trace=SPAN, message_id="")
    envelope = Envelope.from_headers(message.headers)
    assert (envelope.correlation, envelope.cause) == (envelope.id, "")
    assert message.headers["Nats-Msg-Id"] == envelope.id


def test_a_first_event_said_again_with_its_message_id_has_its_id_again() -> None:
    first, again = (
        SENDER.first(failed(), correlation="", trace=SPAN, message_id="delivery 1") for _ in "12"
    )
    assert first.headers["ce-id"] == again.headers["ce-id"]
    assert first.headers["Nats-Msg-Id"] == "delivery 1"


def test_a_commands_id_is_its_idempotency_key() -> None:
    command = SyncApp(app=APP, id="by jane, once", actor="jane")
    message = SENDER.first(command, correlation="", trace=SPAN, message_id="")
    assert message.headers["Nats-Msg-Id"] == "by jane, once"
