"""Which ignore rules concern an object, and what is said of a rule that cannot be understood."""

from __future__ import annotations

import pytest

from bus.identity import ResourceKey
from handlers.application.ignore_rules import (
    NO_RULES,
    ObjectRules,
    ignore_rules,
    read_pointer,
    read_rule,
)
from handlers.application.spec import IgnoreDifference

WEB = ResourceKey("apps", "Deployment", "shop", "web")
CONFIG = ResourceKey("", "ConfigMap", "shop", "web")
REPLICAS = ("/spec/replicas",)


@pytest.mark.parametrize(
    ("written", "key", "concerned"),
    [
        ({"group": "apps", "kind": "Deployment"}, WEB, True),
        ({"group": "apps", "kind": "StatefulSet"}, WEB, False),
        ({"kind": "Deployment"}, WEB, False),
        ({"kind": "ConfigMap"}, CONFIG, True),
        ({"group": "*", "kind": "*"}, WEB, True),
        ({"group": "*", "kind": "*"}, CONFIG, True),
        ({"group": "app?", "kind": "{Deployment,DaemonSet}"}, WEB, True),
        ({"group": "*", "kind": "deployment"}, WEB, False),
        ({"group": "apps", "kind": "Deployment", "name": "web"}, WEB, True),
        ({"group": "apps", "kind": "Deployment", "name": "we*"}, WEB, False),
        ({"group": "apps", "kind": "Deployment", "namespace": "shop"}, WEB, True),
        ({"group": "apps", "kind": "Deployment", "namespace": "other"}, WEB, False),
    ],
    ids=str,
)
def test_a_rule_concerns_objects_of_its_group_kind_name_and_namespace(
    written: dict[str, str], key: ResourceKey, *, concerned: bool
) -> None:
    rules = ignore_rules((IgnoreDifference(**written, json_pointers=REPLICAS),), ())
    assert (rules.of(key) is not None) == concerned


def test_rules_of_the_application_and_of_the_settings_add_up() -> None:
    own = IgnoreDifference(group="apps", kind="Deployment", json_pointers=REPLICAS)
    everywhere = IgnoreDifference(
        group="*", kind="*", json_pointers=("/metadata/labels/a~1b", *REPLICAS)
    )
    rules = ignore_rules((own,), (read_rule(everywhere, "argocd-cm"),))
    found = rules.of(WEB)
    assert found == ObjectRules(pointers=(("spec", "replicas"), ("metadata", "labels", "a/b")))


def test_without_rules_there_is_nothing_to_look_up() -> None:
    assert ignore_rules((), ()) is NO_RULES
    assert not NO_RULES


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("/spec/replicas", ("spec", "replicas")),
        ("/metadata/annotations/a.b~1c", ("metadata", "annotations", "a.b/c")),
        ("/data/a~01", ("data", "a~1")),
        ("/spec/ports/0/nodePort", ("spec", "ports", "0", "nodePort")),
        ("/data/", ("data", "")),
        ("", None),
        ("spec/replicas", None),
        (".spec.replicas", None),
        ("/data/a~2", None),
        ("/data/a~", None),
    ],
)
def test_a_pointer_is_read_as_rfc_6901_has_it(text: str, tokens: tuple[str, ...] | None) -> None:
    assert read_pointer(text) == tokens


def test_a_text_that_is_no_pointer_is_a_problem_with_its_place() -> None:
    good = IgnoreDifference(kind="ConfigMap", json_pointers=("/data",))
    bad = IgnoreDifference(kind="ConfigMap", json_pointers=("/data", "spec.replicas"))
    (problem,) = ignore_rules((good, bad), ()).problems
    assert problem.startswith("spec.ignoreDifferences[1].jsonPointers[1]: 'spec.replicas'")
    assert "must begin with '/'" in problem
