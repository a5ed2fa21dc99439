"""`exec.enabled` and `exec.shells` of argocd-cm."""

import pytest

from handlers.application.argo_settings import read_settings


@pytest.mark.parametrize(
    ("written", "enabled"),
    [(None, False), ("", False), ("false", False), ("yes please", False), ("true", True)],
)
def test_shells_are_off_unless_it_says_true(written: str | None, *, enabled: bool) -> None:
    data = {} if written is None else {"exec.enabled": written}
    assert read_settings(data).exec.enabled is enabled


def test_shells_are_those_of_argo_cd_unless_others_are_named() -> None:
    assert read_settings({}).exec.shells == ("bash", "sh", "powershell", "cmd")
    assert read_settings({"exec.shells": "/bin/ash, zsh"}).exec.shells == ("/bin/ash", "zsh")


def test_a_command_with_arguments_is_no_shell_and_is_told() -> None:
    settings = read_settings({"exec.shells": "sh, sh -c 'rm x',-x"})
    assert settings.exec.shells == ("sh",)
    assert [one.field for one in settings.unsupported] == [
        "exec.shells of argocd-cm: sh -c 'rm x'",
        "exec.shells of argocd-cm: -x",
    ]
    assert not settings.harmful
