"""One YAML document of a tenant, read in the sandbox."""

import pytest

from agent.renderer.renderer import SandboxRenderer
from bus.status import Reason
from handlers.ports.rendering import RenderError
from sandbox.client import Sandbox

FILE = "web/.argocd-source.yaml"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"helm: {parameters: [{name: a, value: on}]}\n", True),
        (b"", None),
        (b"# nothing\n---\n", None),
        (b"[1, 2]", [1, 2]),
        (b'{"kustomize": {}}', {"kustomize": {}}),
    ],
    ids=["fields", "empty", "comment", "list", "json"],
)
async def test_a_document_is_what_it_says(
    sandbox: Sandbox, content: bytes, expected: object
) -> None:
    renderer = SandboxRenderer(sandbox)
    found = await renderer.document(content, file=FILE)
    assert found == await renderer.document(content, file=FILE)
    if expected is True:
        expected = {"helm": {"parameters": [{"name": "a", "value": True}]}}
    assert found == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a: [", Reason.YAML_INVALID),
        (b"a: 1\n---\nb: 1\n", Reason.YAML_INVALID),
        (BOMB.encode(), None),
        (b"[" * 1000 + b"]" * 1000, None),
    ],
    ids=["broken", "two documents", "aliases", "nesting"],
)
async def test_what_is_no_document_is_refused(
    sandbox: Sandbox, content: bytes, reason: Reason | None
) -> None:
    with pytest.raises(RenderError) as caught:
        await SandboxRenderer(sandbox).document(content, file=FILE)
    assert reason in (None, caught.value.reason)
    assert FILE in caught.value.message
