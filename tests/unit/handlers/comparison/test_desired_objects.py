"""What Git wants, sorted once: objects by key, hooks apart, and the keys of both."""

from handlers.comparison.desired_objects import desired_of

HOOK = {"annotations": {"argocd.argoproj.io/hook": "PreSync"}}


def config(name: str, **metadata: object) -> dict[str, object]:
    whole = {"name": name, "namespace": "shop", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": whole}


def test_hooks_stand_apart_and_their_keys_count() -> None:
    found = desired_of([config("a"), config("job", **HOOK)])

    assert [key.name for key in found.objects] == ["a"]
    assert found.hooks == (config("job", **HOOK),)
    assert {key.name for key in found.keys} == {"a", "job"}


def test_of_two_with_one_key_the_last_is_wanted() -> None:
    found = desired_of([config("a"), config("a", labels={"x": "y"})])

    assert list(found.objects.values()) == [config("a", labels={"x": "y"})]
