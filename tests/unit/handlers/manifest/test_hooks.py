"""Which objects are hooks."""

import pytest

from handlers.manifest.hooks import Hook, HookDeletePolicy, HookPhase, hook_of, is_hook, is_skipped


def annotated(argo: str = "", helm: str = "", **more: str) -> dict[str, object]:
    annotations = {"argocd.argoproj.io/hook": argo, "helm.sh/hook": helm, **more}
    return {
        "metadata": {"annotations": {key: value for key, value in annotations.items() if value}}
    }


@pytest.mark.parametrize(
    ("argo", "helm", "phases"),
    [
        ("PreSync", "", ["PreSync"]),
        ("PreSync, PostSync", "", ["PreSync", "PostSync"]),
        ("SyncFail", "", ["SyncFail"]),
        ("PreDelete", "", ["PreDelete"]),
        ("PostDelete", "", ["PostDelete"]),
        ("Skip", "", []),
        ("", "pre-install,pre-upgrade", ["PreSync"]),
        ("", "post-upgrade", ["PostSync"]),
        ("", "pre-delete", ["PreDelete"]),
        ("", "post-delete", ["PostDelete"]),
        ("", "test", []),
        ("", "pre-rollback", []),
        ("Sync", "post-install", ["Sync"]),
        ("Nonsense", "post-install", ["PostSync"]),
        ("Nonsense", "", []),
        ("Skip,PreSync", "", ["PreSync"]),
    ],
)
def test_phases_of_a_hook(argo: str, helm: str, phases: list[str]) -> None:
    hook = hook_of(annotated(argo, helm))
    assert hook is not None
    assert [phase.value for phase in hook.phases] == phases


@pytest.mark.parametrize(("argo", "helm"), [("", ""), ("", "crd-install")])
def test_ordinary_objects_are_no_hooks(argo: str, helm: str) -> None:
    assert not is_hook(annotated(argo, helm))
    assert not is_skipped(annotated(argo, helm))


def test_skip_is_set_aside_and_a_phase_is_not() -> None:
    assert is_skipped(annotated("Skip"))
    assert not is_skipped(annotated("Sync"))


@pytest.mark.parametrize(
    "more",
    [
        {"argocd.argoproj.io/hook-delete-policy": "HookSucceeded,HookFailed"},
        {"helm.sh/hook-delete-policy": "hook-succeeded,hook-failed"},
    ],
    ids=["argo", "helm"],
)
def test_delete_policies_are_read(more: dict[str, str]) -> None:
    succeeded_failed = (HookDeletePolicy.HOOK_SUCCEEDED, HookDeletePolicy.HOOK_FAILED)
    assert hook_of(annotated("PreSync", **more)) == Hook((HookPhase.PRE_SYNC,), succeeded_failed)


def test_a_hook_is_replaced_before_its_next_creation_by_default() -> None:
    hook = hook_of(annotated("PreSync"))
    assert hook is not None
    assert hook.delete_policies == (HookDeletePolicy.BEFORE_HOOK_CREATION,)
