"""One cluster is one value in every spelling, and every rule of a project has one verdict on it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.status import ConditionType
from handlers.application.destination import (
    IN_CLUSTER,
    DestinationCluster,
    DestinationError,
)
from handlers.application.project import destination_permitted
from handlers.application.spec import Destination
from handlers.application.validate import problems
from tests.unit.handlers.application.builders import application, project

SERVERS = (
    "https://kubernetes.default.svc",
    "https://kubernetes.default.svc/",
    "https://kubernetes.default.svc:443",
    "https://kubernetes.default.svc:443/",
    "HTTPS://Kubernetes.Default.SVC",
    "https://kubernetes.default.svc.",
    "https://kubernetes.default.svc.:0443/",
    " https://kubernetes.default.svc ",
)
HERE = (*(Destination(server=one) for one in SERVERS), Destination(name="in-cluster"))
PLACES = (*SERVERS, "in-cluster")


@pytest.mark.parametrize("spelling", HERE, ids=str)
def test_every_spelling_of_our_own_cluster_is_one_value(spelling: Destination) -> None:
    assert DestinationCluster.of(spelling) == IN_CLUSTER


@pytest.mark.parametrize("spelling", HERE, ids=str)
@pytest.mark.parametrize("denied", PLACES)
def test_a_denial_by_one_spelling_holds_for_all(spelling: Destination, denied: str) -> None:
    field = "server" if "://" in denied else "name"
    rules = [
        [{"server": "*", "namespace": "*"}, {field: f"!{denied}", "namespace": "*"}],
        [{"server": "*", "namespace": "*"}, {field: denied, "namespace": "!kube-system"}],
        [{"name": "*", "namespace": "*"}, {"server": "*", field: f"!{denied}", "namespace": "*"}],
    ]
    there = Destination(server=spelling.server, name=spelling.name, namespace="kube-system")
    for one in rules:
        assert not destination_permitted(project({"destinations": one}), there)


@given(
    rule=st.sampled_from(
        ["*", "!*", "https://kubernetes.*", *PLACES, *(f"!{it}" for it in PLACES)]
    ),
    by_name=st.booleans(),
    namespace=st.sampled_from(["*", "!kube-system", "kube-system", "kube-*"]),
    pair=st.tuples(st.sampled_from(HERE), st.sampled_from(HERE)),
)
def test_two_spellings_never_get_two_verdicts(
    rule: str, namespace: str, pair: tuple[Destination, Destination], *, by_name: bool
) -> None:
    field = "name" if by_name else "server"
    rules = [{"server": "*", "namespace": "*"}, {field: rule, "namespace": namespace}]
    for destinations in (rules, rules[1:]):
        verdicts = {
            destination_permitted(
                project({"destinations": destinations}),
                Destination(server=one.server, name=one.name, namespace="kube-system"),
            )
            for one in pair
        }
        assert len(verdicts) == 1


@pytest.mark.parametrize(
    "server",
    [
        "http://kubernetes.default.svc",
        "https://kubernetes.default.svc:6443",
        "https://kubernetes.default.svc/x",
        "https://kubernetes.default.svc.evil.example",
    ],
)
def test_another_server_is_another_cluster(server: str) -> None:
    assert DestinationCluster.at(server) != IN_CLUSTER


@pytest.mark.parametrize(
    "server",
    [
        "kubernetes.default.svc",
        "https://me@kubernetes.default.svc",
        "https://h/%",
        "ssh://h",
        "https://h//",
    ],
)
def test_a_server_that_can_be_read_in_two_ways_is_refused(server: str) -> None:
    with pytest.raises(DestinationError):
        DestinationCluster.at(server)
    (found,) = problems(application({"destination": {"server": server}}), project())
    assert found.type == ConditionType.INVALID_SPEC_ERROR
    assert not destination_permitted(project(), Destination(server=server, namespace="shop"))


@given(st.sampled_from(["https://h", "https://H:443/", "https://10.0.0.1:6443/a", *SERVERS]))
def test_the_text_of_a_cluster_is_the_cluster(server: str) -> None:
    cluster = DestinationCluster.at(server)
    assert DestinationCluster.at(str(cluster)) == cluster
