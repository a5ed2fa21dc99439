"""One object against the live one: what is a difference, what is none, what nobody can tell."""

import json
from base64 import b64encode
from typing import Any

import pytest

from handlers.comparison.object_diff import changes_after_dry_run, diff, same_after_dry_run
from handlers.comparison.object_difference import DiffVerdict

SAME, DIFFERENT, UNCERTAIN = DiffVerdict.SAME, DiffVerdict.DIFFERENT, DiffVerdict.UNCERTAIN


def obj(api: str, kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, **fields}


def pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return obj("v1", "Pod", spec={"containers": list(containers), **spec})


def owning(live: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    entry = {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}
    other = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:secret": {}}}}
    metadata = {**live["metadata"], "managedFields": [other, entry]}
    return {**live, "metadata": metadata}


def changes(desired: dict[str, Any], live: dict[str, Any]) -> list[str]:
    return [f"{d.kind.value} {d.path}" for d in diff(desired, live).differences]


def config(**data: Any) -> dict[str, Any]:
    return obj("v1", "ConfigMap", data=data)


@pytest.mark.parametrize(
    ("desired", "live", "expected"),
    [
        pytest.param(config(a="1"), config(a="1"), [], id="equal"),
        pytest.param(config(a="1"), config(a="2"), ["changed data.a"], id="changed"),
        pytest.param(config(a="1"), config(), ["missing data.a"], id="missing"),
        pytest.param(config(), config(b="2"), [], id="added by another"),
        pytest.param(config(**{"a.b": "1"}), config(), ['missing data["a.b"]'], id="dotted key"),
        pytest.param(
            config(a="1000m"), config(a="1"), ["changed data.a"], id="text is no quantity"
        ),
        pytest.param(config(a="x"), obj("v1", "ConfigMap"), ["missing data"], id="no data at all"),
    ],
)
def test_map_fields(desired: Any, live: Any, expected: list[str]) -> None:
    assert changes(desired, live) == expected


@pytest.mark.parametrize(
    ("desired", "live", "verdict"),
    [
        ("1000m", "1", SAME),
        ("0.5", "500m", SAME),
        (0.5, "500m", SAME),
        (1, "1", SAME),
        ("1Gi", "1073741824", SAME),
        ("1e3", "1k", SAME),
        ("1", "2", DIFFERENT),
        ("1G", "1Gi", DIFFERENT),
        ("much", "1", DIFFERENT),
        (True, "1", DIFFERENT),
    ],
    ids=str,
)
def test_quantities_are_numbers(desired: Any, live: Any, verdict: DiffVerdict) -> None:
    def limited(amount: Any) -> dict[str, Any]:
        return pod({"name": "c", "resources": {"limits": {"cpu": amount}}})

    assert diff(limited(desired), limited(live)).verdict is verdict


def test_true_is_not_one() -> None:
    assert changes(
        obj("example.com/v1", "T", spec={"on": True}), obj("example.com/v1", "T", spec={"on": 1})
    ) == ["changed spec.on"]


def test_entries_are_matched_by_name_and_others_may_add() -> None:
    desired = pod({"name": "web", "image": "web:2"})
    live = pod({"name": "injected", "image": "mesh:1"}, {"name": "web", "image": "web:1"})
    assert changes(desired, live) == ["changed spec.containers[name=web].image"]


def test_ports_match_without_their_default_protocol() -> None:
    desired = pod(
        {"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]}
    )
    live = pod(
        {
            "name": "c",
            "ports": [
                {"containerPort": 80, "protocol": "TCP"},
                {"containerPort": 53, "protocol": "UDP"},
            ],
        }
    )
    assert changes(desired, live) == []


def test_service_ports_match_by_port_and_protocol() -> None:
    def service(*ports: dict[str, Any], **spec: Any) -> dict[str, Any]:
        return obj("v1", "Service", spec={"ports": list(ports), **spec})

    desired = service({"port": 80}, clusterIP="")
    live = service({"port": 80, "protocol": "TCP", "targetPort": 80}, clusterIP="192.0.2.1")
    assert changes(desired, live) == []
    assert changes(desired, owning(live, {"f:spec": {"f:clusterIP": {}}})) == []


def test_order_of_entries_counts() -> None:
    first, second = {"name": "a", "value": "1"}, {"name": "b", "value": "$(a)"}
    desired = pod({"name": "c", "env": [first, second]})
    live = pod({"name": "c", "env": [second, first]})
    assert changes(desired, live) == ["changed spec.containers[name=c].env"]


def test_repeated_merge_keys_compare_as_a_whole() -> None:
    env = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    assert changes(pod({"name": "c", "env": env}), pod({"name": "c", "env": env})) == []
    assert changes(pod({"name": "c", "env": env}), pod({"name": "c", "env": env[:1]})) != []


def role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return obj("rbac.authorization.k8s.io/v1", "ClusterRole", rules=list(rules), **more)


RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def test_what_is_more_inside_an_atomic_list_was_taken_out_of_git() -> None:
    live = role({**RULE, "resourceNames": ["only-this"]})
    assert changes(role(RULE), live) == ["extra rules[0].resourceNames"]


def test_an_added_rule_is_seen() -> None:
    assert changes(role(RULE), role(RULE, RULE)) == ["changed rules"]


def test_known_defaults_inside_an_atomic_list_are_none() -> None:
    def policy(port: dict[str, Any]) -> dict[str, Any]:
        return obj("networking.k8s.io/v1", "NetworkPolicy", spec={"ingress": [{"ports": [port]}]})

    assert changes(policy({"port": 80}), policy({"port": 80, "protocol": "TCP"})) == []
    assert changes(policy({"port": 80}), policy({"port": 80, "endPort": 90})) != []


def test_aggregated_rules_belong_to_their_controller() -> None:
    aggregated = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    live = owning(role(RULE, **aggregated), {"f:rules": {}, "f:aggregationRule": {}})
    assert diff(role(**aggregated), live).verdict is SAME


def test_finalizers_are_a_set() -> None:
    desired, live = config(), config()
    desired["metadata"]["finalizers"] = ["a"]
    live["metadata"]["finalizers"] = ["b", "a"]
    assert changes(desired, live) == []
    live["metadata"]["finalizers"] = ["b"]
    assert changes(desired, live) == ["missing metadata.finalizers.a"]


@pytest.mark.parametrize(
    ("desired", "live", "fields", "expected"),
    [
        pytest.param(
            config(a="1"),
            config(a="1", b="2"),
            {"f:data": {"f:a": {}, "f:b": {}}},
            ["extra data.b"],
            id="key of a map",
        ),
        pytest.param(
            config(a="1"),
            config(a="1", b="2"),
            {"f:data": {"f:a": {}}},
            [],
            id="key of another manager",
        ),
        pytest.param(
            obj("v1", "ConfigMap"),
            config(b="2"),
            {"f:data": {"f:b": {}}},
            ["extra data"],
            id="whole map",
        ),
        pytest.param(
            obj("v1", "ConfigMap", data=None),
            config(b="2"),
            {"f:data": {"f:b": {}}},
            ["extra data"],
            id="null in Git",
        ),
        pytest.param(
            pod({"name": "a"}),
            pod({"name": "a", "tty": True}),
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:tty": {}}}}},
            ["extra spec.containers[name=a].tty"],
            id="field of an entry",
        ),
        pytest.param(
            pod({"name": "a"}),
            pod({"name": "a"}, {"name": "b"}),
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {}, 'k:{"name":"b"}': {}}}},
            ["extra spec.containers[name=b]"],
            id="entry",
        ),
        pytest.param(
            pod({"name": "a"}),
            pod({"name": "a", "ports": [{"containerPort": 8, "protocol": "TCP"}]}),
            {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"a"}': {
                            "f:ports": {'k:{"containerPort":8,"protocol":"TCP"}': {}}
                        }
                    }
                }
            },
            ["extra spec.containers[name=a].ports"],
            id="whole list",
        ),
    ],
)
def test_field_removed_from_git_is_seen_if_we_own_it(
    desired: Any, live: Any, fields: Any, expected: list[str]
) -> None:
    assert changes(desired, owning(live, fields)) == expected


def test_removed_label_and_finalizer_are_seen() -> None:
    live = config()
    live["metadata"] |= {"labels": {"a": "b"}, "finalizers": ["x/y"]}
    fields: dict[str, Any] = {
        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"x/y"': {}}}
    }
    assert changes(config(), owning(live, fields)) == [
        "extra metadata.labels",
        "extra metadata.finalizers",
    ]


def custom(*things: dict[str, Any]) -> dict[str, Any]:
    return obj("example.com/v1", "Thing", spec={"things": list(things)})


def test_merge_keys_of_a_custom_resource_are_learned_from_our_fields() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:things": {'k:{"id":"a"}': {".": {}, "f:id": {}}}}}
    live = owning(custom({"id": "other"}, {"id": "a", "size": 1}), fields)
    assert changes(custom({"id": "a"}), live) == []


def test_unknown_list_of_a_custom_resource_is_atomic() -> None:
    assert changes(custom({"id": "a"}), custom({"id": "a"}, {"id": "b"})) == ["changed spec.things"]


EMPTY: list[Any] = [None, {}, [], "", 0, False, {"a": {"b": []}}]


@pytest.mark.parametrize("empty", EMPTY, ids=str)
def test_empty_value_that_was_ours_and_was_dropped_is_none(empty: Any) -> None:
    live = owning(pod({"name": "c"}), {"f:spec": {"f:field": {}}})
    assert diff(pod({"name": "c"}, field=empty), live).verdict is SAME


def test_tolerations_that_admission_adds_to_a_pod_are_none() -> None:
    spot, added = {"key": "spot", "operator": "Exists"}, {"key": "not-ready", "effect": "NoExecute"}
    live = pod({"name": "c"}, tolerations=[spot, added])
    assert changes(pod({"name": "c"}, tolerations=[spot]), live) == []


def test_empty_list_is_never_a_difference_in_a_built_in_kind() -> None:
    live = owning(pod({"name": "c"}), {"f:spec": {"f:containers": {'k:{"name":"c"}': {}}}})
    assert diff(pod({"name": "c"}, initContainers=[]), live).verdict is SAME


@pytest.mark.parametrize("empty", [one for one in EMPTY[1:] if one != []], ids=str)
def test_empty_value_is_a_doubt_where_we_never_applied(empty: Any) -> None:
    outcome = diff(pod({"name": "c"}, field=empty), pod({"name": "c"}))
    assert (outcome.verdict, outcome.doubts, outcome.differences) == (
        UNCERTAIN,
        ("spec.field",),
        (),
    )


def test_empty_value_new_in_git_is_a_difference() -> None:
    live = owning(pod({"name": "c"}), {"f:spec": {"f:containers": {'k:{"name":"c"}': {}}}})
    desired = pod({"name": "c"}, automountServiceAccountToken=False)
    assert changes(desired, live) == ["missing spec.automountServiceAccountToken"]


def test_custom_resource_keeps_its_empty_values() -> None:
    desired = obj("example.com/v1", "Thing", spec={"on": False})
    assert changes(desired, obj("example.com/v1", "Thing", spec={})) == ["missing spec.on"]


def test_computed_limits_are_a_doubt() -> None:
    def limits(**more: Any) -> dict[str, Any]:
        return obj(
            "v1",
            "LimitRange",
            spec={"limits": [{"type": "Container", "max": {"cpu": "1"}, **more}]},
        )

    assert diff(limits(), limits(default={"cpu": "1"})).verdict is UNCERTAIN


def secret(**fields: Any) -> dict[str, Any]:
    return obj("v1", "Secret", **fields)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_string_data_is_data() -> None:
    live = secret(data={"a": encoded("hunter2")}, type="Opaque")
    assert changes(secret(stringData={"a": "hunter2"}), live) == []
    assert changes(secret(stringData={"a": "other"}), live) == ["changed data.a"]


def test_line_breaks_in_base64_are_none() -> None:
    live = secret(data={"a": encoded("hunter2" * 20)})
    broken = encoded("hunter2" * 20)
    assert changes(secret(data={"a": broken[:76] + "\n" + broken[76:] + "\n"}), live) == []


def test_outcome_of_a_secret_holds_no_value() -> None:
    live = secret(data={"a": encoded("hunter2"), "c": encoded("hunter4")})
    desired = secret(stringData={"a": "hunter3", "b": "hunter5"})
    fields: dict[str, Any] = {"f:data": {"f:c": {}}}
    shown = repr(diff(desired, owning(live, fields)))
    assert "data.a" in shown
    assert not any(word in shown for n in "2345" for word in (f"hunter{n}", encoded(f"hunter{n}")))


def test_bookkeeping_of_the_server_is_none() -> None:
    desired = config(a="1") | {"status": {"x": 1}}
    desired["metadata"] |= {"creationTimestamp": None, "annotations": {"n": 1, "b": True}}
    live = config(a="1") | {"status": {"x": 2}}
    live["metadata"] |= {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {
            "n": "1",
            "b": "true",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
    }
    assert diff(desired, live).verdict is SAME


def test_another_version_of_the_kind_is_for_the_server_to_compare() -> None:
    outcome = diff(
        obj("autoscaling/v1", "HorizontalPodAutoscaler"),
        obj("autoscaling/v2", "HorizontalPodAutoscaler"),
    )
    assert outcome.verdict is UNCERTAIN
    assert "autoscaling/v2" in outcome.doubts[0]


def test_deep_nesting_ends_in_a_doubt() -> None:
    def nested(bottom: str) -> dict[str, Any]:
        deep: Any = bottom
        for _ in range(150):
            deep = {"a": deep}
        return obj("example.com/v1", "Thing", spec=deep)

    assert diff(nested("x"), nested("y")).verdict is UNCERTAIN


def test_inputs_are_left_alone() -> None:
    desired, live = secret(stringData={"a": "1"}), owning(secret(data={"a": "2"}), {"f:data": {}})
    before = json.dumps([desired, live])
    diff(desired, live)
    assert json.dumps([desired, live]) == before


def answered(version: str, **data: str) -> dict[str, Any]:
    found = config(**data) | {"status": {"seen": version}}
    found["metadata"] |= {"resourceVersion": version, "generation": 3, "managedFields": [{}]}
    return found


def test_dry_run_that_changes_only_bookkeeping_is_the_same() -> None:
    assert same_after_dry_run(answered("1", a="1"), answered("2", a="1"))


def test_dry_run_that_changes_a_field_is_not() -> None:
    assert not same_after_dry_run(answered("1", a="1", b="2"), answered("2", a="1"))
    changed = changes_after_dry_run(answered("1", a="1", b="2"), answered("2", a="1", c="3"))
    assert [f"{d.kind.value} {d.path}" for d in changed] == ["missing data.b", "extra data.c"]


def test_dry_run_of_a_secret_shows_no_value() -> None:
    changed = changes_after_dry_run(secret(data={"a": "aGVsbG8="}), secret(data={"a": "d29ybGQ="}))
    assert changed
    assert "aGVsbG8=" not in repr(changed)
    assert "d29ybGQ=" not in repr(changed)
