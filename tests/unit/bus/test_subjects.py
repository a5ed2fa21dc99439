import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bus.events import Compared, RefreshApp, SyncApp
from bus.events.event import event_types
from bus.events.examples import example_of
from bus.identity import AppKey, shard_of
from bus.subjects import (
    AgentScope,
    Branch,
    Subject,
    SubjectError,
    escape,
    facts_about,
    filter_of,
    matches,
    subject_of,
    unescape,
)

SCOPE = AgentScope("acme", "prod1")
APP = AppKey("argocd", "guestbook.v2")
WORDS = {Branch.ASK: 1, Branch.COMMAND: 1, Branch.FACT: 2, Branch.UP: 2, Branch.DEAD: 1}
tokens = st.text(max_size=30)


@st.composite
def subjects(draw: st.DrawFn) -> Subject:
    branch = draw(st.sampled_from(Branch))
    words = tuple(draw(tokens) for _ in range(WORDS[branch]))
    scope = AgentScope(draw(tokens), draw(tokens))
    if branch in (Branch.UP, Branch.DEAD):
        return Subject(scope=scope, branch=branch, words=words)
    return Subject(scope=scope, branch=branch, words=words, shard=draw(tokens), key=draw(tokens))


@given(subjects())
def test_parsing_a_built_subject_gives_it_back(subject: Subject) -> None:
    assert Subject.parse(str(subject)) == subject


@given(st.text())
def test_an_escaped_token_is_plain_and_comes_back(token: str) -> None:
    assert unescape(escape(token)) == token
    assert re.fullmatch(r"[A-Za-z0-9_-]+", escape(token))


@given(tokens, tokens, tokens, tokens)
@example("", "", "", "_2d")
@example("", "-", "", "_2d")
def test_two_scopes_never_share_a_name(a: str, b: str, c: str, d: str) -> None:
    if (a, b) != (c, d):
        assert AgentScope(a, b).name("ASK") != AgentScope(c, d).name("ASK")
        assert AgentScope(a, b).prefix != AgentScope(c, d).prefix


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gt",
        "gt.acme.prod1.ask.render.1f",
        "gt.acme.prod1.ask.render.1f.key.more",
        "gt.acme.prod1.shout.render.1f.key",
        "other.acme.prod1.ask.render.1f.key",
        "gt.acme.prod1.ask.ren_zz.1f.key",
        "gt.acme.prod1.ask.*.1f.key",
        "gt.acme..ask.render.1f.key",
    ],
)
def test_what_is_not_in_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(SubjectError):
        Subject.parse(text)


def test_a_subject_holds_handler_shard_and_a_hash_of_the_key() -> None:
    token = APP.token
    shard = shard_of(token)
    assert subject_of(SCOPE, RefreshApp(app=APP)) == f"gt.acme.prod1.ask.render.{shard}.{token}"
    command = SyncApp(app=APP, id="1", actor="jane")
    assert subject_of(SCOPE, command) == f"gt.acme.prod1.cmd.sync.{shard}.{token}"
    fact = example_of(Compared)
    assert subject_of(SCOPE, fact).startswith("gt.acme.prod1.fact.app.compared.")


@pytest.mark.parametrize("event", event_types())
def test_a_handler_hears_exactly_its_own_events(event: type) -> None:
    subject = subject_of(SCOPE, example_of(event))
    heard = [other for other in event_types() if matches(filter_of(SCOPE, other), subject)]
    assert heard == [event]


def test_facts_about_one_thing_leave_out_the_others() -> None:
    one = example_of(Compared)
    assert matches(facts_about(SCOPE), subject_of(SCOPE, one))
    assert matches(facts_about(SCOPE, one.key), subject_of(SCOPE, one))
    assert not matches(facts_about(SCOPE, APP), subject_of(SCOPE, one))


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.*", "a", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        (">", "a", True),
        ("a.b", "a", False),
    ],
)
def test_matching_follows_nats(pattern: str, subject: str, expected: bool) -> None:  # noqa: FBT001
    assert matches(pattern, subject) is expected
