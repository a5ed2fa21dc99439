"""The ids of commands that an Application remembers, by the present and the former annotation."""

import pytest

from bus.metadata_keys import COMMANDS
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec
from handlers.command import commands_of, is_known, with_command


def app(**ids: str) -> Application:
    names = {"present": COMMANDS.name, "former": COMMANDS.former}
    annotations = {names[which]: text for which, text in ids.items()}
    metadata = Metadata(namespace="argocd", name="shop", annotations=annotations)
    return Application(metadata=metadata, spec=ApplicationSpec())


@pytest.mark.parametrize(
    ("ids", "known"),
    [
        ({}, ()),
        ({"former": "a b"}, ("a", "b")),
        ({"present": "b c"}, ("b", "c")),
        ({"former": "a b", "present": "b c"}, ("a", "b", "c")),
    ],
    ids=["neither", "former", "present", "both"],
)
def test_commands_are_known_under_both_names(ids: dict[str, str], known: tuple[str, ...]) -> None:
    assert commands_of(app(**ids)) == known
    assert all(is_known(app(**ids), one) for one in known)


def test_the_next_write_takes_the_commands_of_the_former_annotation_along() -> None:
    assert with_command(app(former="a b"), "c") == "a b c"
