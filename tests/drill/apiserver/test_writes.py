"""Writes over real HTTP: what a real server refuses, fills in, drops and keeps."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.captured import capture
from tests.drill.apiserver.conftest import pod
from tests.simulated import Served

Json = dict[str, Any]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/shop/leases"
RECORDS = "/apis/remediator.io/v1alpha1/noderemediations"
EVENTS = "/api/v1/namespaces/{}/events"
POD = "/api/v1/namespaces/shop/pods/web-1"


@pytest.fixture
def with_crd(cluster: Served) -> Served:
    """The captured CRD is served."""
    asked = capture("42")["request"]
    assert cluster.ask("POST", asked["path"], asked["body"]).status_code == 201
    return cluster


def message(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["message"]


# --- metadata -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"name": "Remediator_1"}, "a lowercase RFC 1123 subdomain must consist of"),
        ({"name": "x", "labels": {"a": "two words"}}, "a valid label must be an empty string or consist of"),
        ({"name": "x", "labels": {"a": "x" * 64}}, "must be no more than 63 bytes"),
        ({"name": "x", "annotations": {"a b": ""}}, "name part must consist of"),
        ({"name": "x", "annotations": {"a": "x" * 2**18}}, "Too long: may not be more than 262144 bytes"),
        ({}, "name or generateName is required"),
    ],
)
def test_bad_metadata_is_told_with_its_field(cluster: Served, metadata: Json, told: str) -> None:
    """422 Invalid, with the rule that is broken."""
    code, text = message(cluster.ask("POST", "/api/v1/namespaces/shop/configmaps", {"metadata": metadata}))
    assert (code, told in text) == (422, True), text


def test_an_object_lives_where_its_path_says(cluster: Served) -> None:
    """A body that names another namespace or another name is a bad request."""
    code, text = message(cluster.ask("POST", LEASES, {"metadata": {"name": "a", "namespace": "default"}}))
    assert (code, "does not match the namespace sent on the request" in text) == (400, True)
    code, text = message(cluster.ask("PUT", POD, pod("web-2")))
    assert (code, text) == (400, "the name of the object (web-2) does not match the name on the URL (web-1)")


def test_an_update_for_an_object_made_anew_is_a_conflict(cluster: Served) -> None:
    """A UID that is another's: 409, though the name is right."""
    assert cluster.patch(POD, {"metadata": {"uid": "another"}}).status_code == 409


def test_a_namespace_that_is_not_there_is_not_found(cluster: Served) -> None:
    """404 about the namespace."""
    code, text = message(cluster.ask("POST", "/api/v1/namespaces/nope/configmaps", {"metadata": {"name": "x"}}))
    assert (code, text) == (404, 'namespaces "nope" not found')


# --- leases, records and their versions -----------------------------------------------------------------------


def test_two_holders_of_a_lease_cannot_both_win(api_client: Any) -> None:
    """The official client's replace with the version both have read: the second gets 409."""
    leases: Any = client.CoordinationV1Api(api_client)
    now = datetime.now(UTC).replace(microsecond=1)
    spec = client.V1LeaseSpec(holder_identity="a", lease_duration_seconds=15, renew_time=now)
    made = leases.create_namespaced_lease("shop", client.V1Lease(metadata=client.V1ObjectMeta(name="slot"), spec=spec))
    leases.replace_namespaced_lease("slot", "shop", made)
    made.spec.holder_identity = "b"
    leases.replace_namespaced_lease("slot", "shop", made)
    with pytest.raises(ApiException) as refused:
        leases.replace_namespaced_lease("slot", "shop", made)
    assert refused.value.status == 409


def test_a_lease_is_not_replaced_without_its_version(cluster: Served) -> None:
    """A real server takes no unconditional update of a Lease; a PUT of one that is not there makes it."""
    lease = {"metadata": {"name": "slot"}, "spec": {"holderIdentity": "a"}}
    assert cluster.ask("PUT", f"{LEASES}/slot", lease).status_code == 201
    code, text = message(cluster.ask("PUT", f"{LEASES}/slot", lease))
    assert (code, "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update" in text) == (
        422,
        True,
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2026-01-01T01:00:00.123456+01:00", "2026-01-01T00:00:00.123456Z"),
        ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z"),
    ],
)
def test_micro_times_are_kept_in_utc(cluster: Served, given: str, kept: str) -> None:
    """Any offset is taken; what is shown ends in Z."""
    lease = {"metadata": {"name": "slot"}, "spec": {"renewTime": given}}
    assert cluster.ask("POST", LEASES, lease).json()["spec"]["renewTime"] == kept


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("2026-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2026-01-01T00:00:00.123Z", 'cannot parse ".123Z" as ".000000"'),
        ("2026-01-01T00:00:00.123456", 'cannot parse "" as "Z07:00"'),
        ("yesterday", 'cannot parse "yesterday" as "2006"'),
    ],
)
def test_a_time_that_go_cannot_parse_is_a_bad_request(cluster: Served, given: str, told: str) -> None:
    """400 in the words of the real server."""
    code, text = message(cluster.ask("POST", LEASES, {"metadata": {"name": "slot"}, "spec": {"renewTime": given}}))
    assert (code, told in text) == (400, True), text


def test_a_record_is_held_by_its_schema(with_crd: Served) -> None:
    """Types are told by name; unknown fields are dropped, or refused when the client asks for strictness."""
    code, text = message(with_crd.ask("POST", RECORDS, {"metadata": {"name": "n1"}, "spec": {"mode": 5}}))
    wrong_type = 'spec.mode: Invalid value: "integer": spec.mode in body must be of type string: "integer"'
    assert (code, wrong_type in text) == (422, True), text
    record = {"metadata": {"name": "n1"}, "spec": {"mode": "observe", "colour": "red"}}
    code, text = message(with_crd.ask("POST", f"{RECORDS}?fieldValidation=Strict", record))
    assert (code, 'strict decoding error: unknown field "spec.colour"' in text) == (400, True)
    assert with_crd.ask("POST", RECORDS, record).json()["spec"] == {"mode": "observe"}


def test_a_custom_resource_knows_no_strategic_merge_patch(with_crd: Served) -> None:
    """415, as the official client gets it when it is given a dict without a content type."""
    with_crd.inside(Store.create, "NodeRemediation", {"metadata": {"name": "n1"}, "spec": {"mode": "off"}})
    answer = with_crd.patch(f"{RECORDS}/n1", {"spec": {"mode": "observe"}}, "strategic-merge-patch")
    assert answer.status_code == 415
    assert "application/merge-patch+json" in answer.json()["message"]


def test_status_and_spec_are_written_apart(with_crd: Served) -> None:
    """Each path changes its own half, and only a changed spec makes a new generation."""
    with_crd.ask("POST", RECORDS, {"metadata": {"name": "n1"}, "spec": {"mode": "off"}})
    both = {"spec": {"mode": "observe"}, "status": {"level": "RED"}}
    by_status = with_crd.patch(f"{RECORDS}/n1/status", both).json()
    assert (by_status["spec"], by_status["status"]) == ({"mode": "off"}, {"level": "RED"})
    by_spec = with_crd.patch(f"{RECORDS}/n1", {**both, "status": {"level": "GREEN"}}).json()
    assert (by_spec["spec"], by_spec["status"]) == ({"mode": "observe"}, {"level": "RED"})
    assert (by_status["metadata"]["generation"], by_spec["metadata"]["generation"]) == (1, 2)


def test_the_shipped_crd_is_served(cluster: Served) -> None:
    """The definition that the chart installs is accepted, and its kind can be created and found."""
    shipped = Path(__file__).parents[3] / "helm" / "remediator" / "crds" / "noderemediations.yaml"
    definition = yaml.safe_load(shipped.read_text())
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = cluster.ask("POST", f"{path}?fieldValidation=Strict", definition)
    assert made.status_code == 201, made.text
    conditions = cluster.ask("GET", f"{path}/{definition['metadata']['name']}").json()["status"]["conditions"]
    assert {c["type"]: c["status"] for c in conditions} == {"NamesAccepted": "True", "Established": "True"}
    assert cluster.ask("POST", RECORDS, {"metadata": {"name": "n1"}, "spec": {"mode": "observe"}}).status_code == 201


def test_a_changed_definition_counts_at_once_and_a_deleted_one_takes_its_objects(with_crd: Served) -> None:
    """A new enum value is taken after the update; after the deletion the path is gone, and so are the records."""
    path = f"{capture('42')['request']['path']}/noderemediations.remediator.io"
    assert with_crd.ask("POST", RECORDS, {"metadata": {"name": "n1"}, "spec": {"mode": "new"}}).status_code == 422
    definition = with_crd.ask("GET", path).json()
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["mode"]["enum"].append("new")
    assert with_crd.ask("PUT", path, definition).status_code == 200
    assert with_crd.ask("POST", RECORDS, {"metadata": {"name": "n1"}, "spec": {"mode": "new"}}).status_code == 201
    assert with_crd.ask("DELETE", path).status_code == 200
    assert with_crd.ask("GET", RECORDS).status_code == 404
    assert not with_crd.store.list("NodeRemediation")


# --- events ---------------------------------------------------------------------------------------------------


def event(kind: str, **more: Any) -> Json:
    about = {"kind": kind, "name": "x", **({"namespace": "shop"} if kind == "Pod" else {})}
    return {"metadata": {"generateName": "x."}, "involvedObject": about, "reason": "R", "message": "m", **more}


def test_an_event_lies_where_its_object_lies(cluster: Served) -> None:
    """A pod's in its namespace, a node's in `default`; elsewhere it is invalid."""
    assert cluster.ask("POST", EVENTS.format("shop"), event("Pod")).status_code == 201
    assert cluster.ask("POST", EVENTS.format("default"), event("Node")).status_code == 201
    for namespace, kind in (("shop", "Node"), ("default", "Pod")):
        code, text = message(cluster.ask("POST", EVENTS.format(namespace), event(kind)))
        assert (code, "involvedObject.namespace: Invalid value" in text) == (422, True)


def test_an_event_with_an_event_time_needs_its_reporter(cluster: Served) -> None:
    """The newer form: reporter and action are required."""
    code, text = message(
        cluster.ask("POST", EVENTS.format("shop"), event("Pod", eventTime="2026-01-01T00:00:00.000000Z"))
    )
    assert code == 422
    assert "reportingController: Required value" in text and "action: Required value" in text


def test_an_event_is_shown_in_both_groups(cluster: Served) -> None:
    """What the core API was told, events.k8s.io shows under its own names, and the other way round."""
    newer = "/apis/events.k8s.io/v1/namespaces/shop/events"
    name = cluster.ask("POST", EVENTS.format("shop"), event("Pod")).json()["metadata"]["name"]
    shown = cluster.ask("GET", f"{newer}/{name}").json()
    assert (shown["note"], shown["regarding"]["name"], shown["apiVersion"]) == ("m", "x", "events.k8s.io/v1")
    assert cluster.ask("PUT", f"{newer}/{name}", {**shown, "note": "other"}).json()["note"] == "other"
    assert cluster.ask("GET", f"{EVENTS.format('shop')}/{name}").json()["message"] == "other"
    selected = cluster.ask("GET", f"{newer}?fieldSelector=regarding.name%3Dx").json()
    assert (selected["apiVersion"], [each["note"] for each in selected["items"]]) == ("events.k8s.io/v1", ["other"])


# --- pods, scale, deletion ------------------------------------------------------------------------------------


def test_a_created_pod_waits_for_a_node_with_what_a_server_fills_in(api: Any) -> None:
    """Pending, with a QoS class and the defaults that matter for its end; its own status is dropped."""
    resources = {"requests": {"memory": "1Gi"}}
    body = {
        "metadata": {"generateName": "new-"},
        "spec": {"containers": [{"name": "c", "resources": resources}]},
        "status": {"phase": "Running"},
    }
    made = api.create_namespaced_pod("shop", body)
    assert made.metadata.name.startswith("new-")
    assert (made.status.phase, made.status.qos_class) == ("Pending", "Burstable")
    assert made.spec.termination_grace_period_seconds == 30


def test_pods_terminate_gracefully_unless_nothing_runs(cluster: Served) -> None:
    """A running pod stays for its grace period; an unscheduled one, and one without grace, goes at once."""
    unbound = pod("late")
    del unbound["spec"]["nodeName"]
    cluster.inside(Store.create, "Pod", unbound)
    assert cluster.ask("DELETE", "/api/v1/namespaces/shop/pods/late").status_code == 200
    assert cluster.inside(Store.find, "Pod", "shop", "late") is None
    marked = cluster.ask("DELETE", POD).json()["metadata"]
    assert (marked["deletionGracePeriodSeconds"], "deletionTimestamp" in marked) == (30, True)
    cluster.ask("DELETE", POD, {"gracePeriodSeconds": 0})
    assert cluster.inside(Store.find, "Pod", "shop", "web-1") is None


def test_finalizers_hold_an_object_back(cluster: Served) -> None:
    """Marked as deleted it stays until the last finalizer is taken off."""
    path = "/api/v1/namespaces/shop/configmaps/held"
    held = {"metadata": {"name": "held", "namespace": "shop", "finalizers": ["a.b/c"]}}
    cluster.inside(Store.create, "ConfigMap", held)
    assert "deletionTimestamp" in cluster.ask("DELETE", path).json()["metadata"]
    assert cluster.ask("GET", path).status_code == 200
    cluster.patch(path, {"metadata": {"finalizers": None}})
    assert cluster.ask("GET", path).status_code == 404


@pytest.mark.parametrize("preconditions", [{"uid": "another"}, {"resourceVersion": "1"}])
def test_a_deletion_of_another_object_is_a_conflict(cluster: Served, preconditions: Json) -> None:
    """Preconditions on UID and version, for any kind."""
    assert cluster.ask("DELETE", POD, {"preconditions": preconditions}).status_code == 409
    assert cluster.ask("DELETE", "/api/v1/nodes/n1", {"preconditions": preconditions}).status_code == 409


def test_a_collection_is_deleted_by_selector(cluster: Served) -> None:
    """DELETE without a name: what the selectors select, gracefully, and nothing else."""
    cluster.inside(Store.create, "Pod", {**pod("o"), "metadata": {"name": "o", "namespace": "shop"}})
    gone = cluster.ask("DELETE", "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb").json()
    assert [each["metadata"]["name"] for each in gone["items"]] == ["web-1"]
    marked = [each["metadata"]["name"] for each in cluster.store.list("Pod") if "deletionTimestamp" in each["metadata"]]
    assert marked == ["web-1"]


def test_a_pod_is_bound_once(cluster: Served) -> None:
    """A second binding is a conflict that names the node."""
    code, text = message(cluster.ask("POST", f"{POD}/binding", {"target": {"name": "n2"}}))
    assert (code, text.endswith('pod web-1 is already assigned to node "n1"')) == (409, True)


def test_replicas_are_never_negative(cluster: Served) -> None:
    """422 for a scale below zero."""
    metadata = {"name": "web", "namespace": "shop"}
    cluster.inside(Store.create, "Deployment", {"metadata": metadata, "spec": {"replicas": 2}})
    path = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
    assert cluster.patch(path, {"spec": {"replicas": -1}}).status_code == 422
    assert cluster.patch(path, {"spec": {"replicas": 0}}).json()["spec"] == {"replicas": 0}


def test_dry_runs_change_nothing(cluster: Served) -> None:
    """`dryRun=All` answers as the real thing would, for every verb."""
    before = cluster.store.version
    made = cluster.ask("POST", "/api/v1/namespaces/shop/configmaps?dryRun=All", {"metadata": {"name": "x"}})
    assert (made.status_code, "uid" in made.json()["metadata"]) == (201, True)
    patched = cluster.patch(f"{POD}?dryRun=All", {"metadata": {"labels": {"a": "b"}}})
    assert patched.json()["metadata"]["labels"]["a"] == "b"
    assert cluster.ask("DELETE", f"{POD}?dryRun=All").status_code == 200
    assert cluster.store.version == before


# --- bodies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "content_type", "code"),
    [
        ("{", "application/json", 400),
        ("[]", "application/json", 400),
        ("k8s", "application/vnd.kubernetes.protobuf", 415),
        ("x" * 2 * 1024**2, "application/json", 500),
        ("x" * 4 * 1024**2, "application/json", 413),
    ],
)
def test_bodies_that_cannot_be_taken(cluster: Served, data: str, content_type: str, code: int) -> None:
    """Broken, of the wrong form, too big for etcd, too big for the server: each has its status."""
    url = f"{cluster.url}/api/v1/namespaces/shop/configmaps"
    answer = requests.post(url, data=data, headers={"Content-Type": content_type}, timeout=20)
    assert (answer.status_code, answer.json()["kind"]) == (code, "Status")


def test_paths_and_methods_that_are_not_served(cluster: Served) -> None:
    """404 for an unknown resource or subresource, 405 for a verb that the resource has not."""
    assert cluster.ask("GET", "/api/v1/secrets").status_code == 404
    assert cluster.ask("GET", f"{POD}/log").status_code == 404
    assert cluster.ask("GET", f"{POD}/eviction").status_code == 405
    assert cluster.ask("PUT", "/api/v1/nodes", {}).status_code == 405
    assert cluster.ask("POST", "/api/v1/pods", {"metadata": {"name": "x"}}).status_code == 405
