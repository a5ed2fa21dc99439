"""Who uses a repository: in order, and true after every change of an Application."""

import pytest
from msgspec.structs import replace

from agent.store.repository_users import RepositoryUsers
from bus.identity import RepositoryKey
from handlers.application.application import Application
from tests.unit.handlers.application.builders import REPO, application

OTHER = "https://git.example/other"
HERE, THERE = RepositoryKey.of(REPO), RepositoryKey.of(OTHER)


def named(name: str, *urls: str) -> Application:
    sources = [{"repoURL": url, "path": "web"} for url in urls]
    spec = {"source": sources[0]} if len(sources) == 1 else {"sources": sources}
    app = application(spec)
    return replace(app, metadata=replace(app.metadata, name=name))


def test_users_come_in_order_whoever_came_first() -> None:
    users = RepositoryUsers()
    for name in ("b", "a"):
        users.change(None, named(name, REPO))
        users.of(HERE)

    assert [key.name for key in users.of(HERE)] == ["a", "b"]


@pytest.mark.parametrize(
    ("after", "here", "there"),
    [
        (named("a", REPO), 1, 0),
        (named("a", OTHER), 0, 1),
        (named("a", REPO, OTHER), 1, 1),
        (None, 0, 0),
    ],
    ids=["same", "moved", "both", "gone"],
)
def test_what_an_application_became_counts(
    after: Application | None, here: int, there: int
) -> None:
    users, before = RepositoryUsers(), named("a", REPO)
    users.change(None, before)
    users.of(HERE)
    users.change(before, after)

    assert (len(users.of(HERE)), len(users.of(THERE))) == (here, there)
