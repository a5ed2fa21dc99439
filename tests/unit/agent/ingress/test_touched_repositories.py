"""Which pushes an Application cares about, and how deliveries are remembered."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from agent.ingress.webhooks.delivery import DeliveryMemory
from agent.ingress.webhooks.push import Push, RefUpdate, touched
from agent.store.repository_users import RepositoryUsers
from bus.identity import AppKey, RepositoryKey
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Source


class IndexedUsers:
    def __init__(self, target_revision: str, *urls: str) -> None:
        self.users = RepositoryUsers()
        self.apps: dict[AppKey, Application] = {}
        for number, url in enumerate(urls):
            source = Source(repo_url=url, target_revision=target_revision)
            metadata = Metadata(name=f"app-{number}", namespace="argocd")
            app = Application(metadata=metadata, spec=ApplicationSpec(source=source))
            self.users.change(None, app)
            self.apps[app.key] = app

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        return self.users.repositories(delivery_key)

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        return [self.apps[key] for key in self.users.of(repository)]


def push(ref: str, *urls: str) -> Push:
    return Push(
        provider="github",
        event="push",
        repositories=urls or ("https://git.example/shop",),
        ref=ref,
        default_branch="main",
    )


@pytest.mark.parametrize(
    ("target", "ref", "cares"),
    [
        ("main", "refs/heads/main", True),
        ("refs/heads/main", "refs/heads/main", True),
        ("main", "refs/heads/other", False),
        ("team/main", "refs/heads/team/main", True),
        ("main", "refs/heads/team/main", False),
        ("HEAD", "refs/heads/main", True),
        ("", "refs/heads/main", True),
        ("HEAD", "refs/heads/other", False),
        ("v1.*", "refs/tags/v1.2", True),
        ("main", "refs/tags/main", True),
        ("a" * 40, "refs/heads/main", False),
    ],
)
def test_a_push_touches_those_who_follow_its_ref(target: str, ref: str, *, cares: bool) -> None:
    index = IndexedUsers(target, "https://git.example/shop")

    assert bool(touched(push(ref), index)) is cares


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/Shop.git",
        "http://git.example/shop",
        "git@git.example:shop.git",
        "https://git.example:8443/shop/",
    ],
)
def test_any_spelling_of_the_repository_is_found(url: str) -> None:
    asks = touched(push("refs/heads/main"), IndexedUsers("main", url))

    assert [ask.repository for ask in asks] == [RepositoryKey.of(url)]


def test_repositories_that_look_alike_to_a_delivery_are_each_refreshed_by_their_url() -> None:
    urls = ["https://git.example/Shop.git", "https://git.example/shop.git"]
    asks = touched(push("refs/heads/main"), IndexedUsers("main", *urls))

    assert {ask.repository for ask in asks} == {RepositoryKey.of(url) for url in urls}
    assert len({ask.key.token for ask in asks}) == 2


def test_a_url_that_names_no_repository_touches_nothing() -> None:
    index = IndexedUsers("main", "https://git.example//shop", "https://git.example/shop")

    assert len(touched(push("refs/heads/main", "https://git.example//shop"), index)) == 0


def test_head_is_touched_by_any_branch_where_the_default_is_not_known() -> None:
    unknown = Push(
        provider="gitlab",
        event="push",
        repositories=("https://git.example/shop",),
        ref="refs/heads/x",
    )

    assert touched(unknown, IndexedUsers("HEAD", "https://git.example/shop"))


def test_an_application_is_looked_at_once_however_many_refs_a_push_has() -> None:
    """Whoever may send a delivery chooses how many: that must not occupy the agent."""

    class CountedText(str):
        __slots__ = ()
        looks = 0

        def __hash__(self) -> int:
            CountedText.looks += 1
            return super().__hash__()

        def __eq__(self, other: object) -> bool:
            CountedText.looks += 1
            return super().__eq__(other)

    index = IndexedUsers(CountedText("main"), "https://git.example/shop")
    refs = tuple(RefUpdate(ref=f"refs/heads/other-{number}") for number in range(1000))
    CountedText.looks = 0

    assert not touched(replace(push("refs/heads/x"), further=refs), index)
    assert CountedText.looks < 10
    assert touched(replace(push("refs/heads/main"), further=refs), index)


def test_deliveries_forget_the_oldest_first() -> None:
    seen = DeliveryMemory(capacity=2)
    for identity in ("a", "b", "a", "c"):
        seen.note(identity)

    assert [identity in seen for identity in ("a", "b", "c")] == [True, False, True]


def test_a_delivery_without_an_id_is_never_taken_for_another() -> None:
    seen = DeliveryMemory()
    seen.note("")

    assert "" not in seen
