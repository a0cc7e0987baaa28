"""Tables: the columns and cells that kubectl prints."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remediator.drill.apiserver.columns import since
from remediator.drill.apiserver.pod_cells import pod_status
from remediator.drill.apiserver.resources import Registry
from remediator.drill.apiserver.tables import as_table, json_path

Json = dict[str, Any]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
REGISTRY = Registry()
CREATED = "2026-01-01T23:55:00Z"


def row(kind: str, obj: Json) -> dict[str, Any]:
    """Column name -> cell."""
    whole = {**obj, "metadata": {"name": "x", "creationTimestamp": CREATED, **obj.get("metadata", {})}}
    table = as_table(REGISTRY.of_kind(kind), [whole], "1", "None", NOW)
    (only,) = table["rows"]
    assert only["object"] is None
    return dict(zip((c["name"] for c in table["columnDefinitions"]), only["cells"], strict=True))


TEMPLATE = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}}}
SELECTOR = {"selector": {"matchLabels": {"app": "x"}}}
WIDE = {"Containers": "c,d", "Images": "i,j", "Selector": "app=x"}


@pytest.mark.parametrize(
    ("kind", "obj", "cells"),
    [
        (
            "Node",
            {
                "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                "spec": {"unschedulable": True},
                "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
            },
            {"Status": "NotReady,SchedulingDisabled", "Roles": "worker", "Age": "5m", "External-IP": "<none>"},
        ),
        (
            "Deployment",
            {"spec": {"replicas": 3, **TEMPLATE, **SELECTOR}, "status": {"readyReplicas": 2, "updatedReplicas": 3}},
            {"Ready": "2/3", "Up-to-date": 3, "Available": 0, **WIDE},
        ),
        ("StatefulSet", {"spec": {"replicas": 2, **TEMPLATE}}, {"Ready": "0/2", "Images": "i,j"}),
        (
            "DaemonSet",
            {"spec": {**TEMPLATE, **SELECTOR}, "status": {"desiredNumberScheduled": 6, "numberReady": 5}},
            {"Desired": 6, "Ready": 5, "Node Selector": "<none>", **WIDE},
        ),
        (
            "Job",
            {
                "spec": {"completions": 2, **TEMPLATE, **SELECTOR},
                "status": {
                    "succeeded": 2,
                    "startTime": CREATED,
                    "completionTime": "2026-01-01T23:56:30Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            {"Status": "Complete", "Completions": "2/2", "Duration": "90s", **WIDE},
        ),
        ("Job", {"spec": {"parallelism": 3}}, {"Status": "Running", "Completions": "0/1 of 3", "Duration": ""}),
        (
            "CronJob",
            {"spec": {"schedule": "0 * * * *"}, "status": {"lastScheduleTime": CREATED, "active": [{}]}},
            {"Schedule": "0 * * * *", "Suspend": "False", "Active": 1, "Last Schedule": "5m"},
        ),
        (
            "PodDisruptionBudget",
            {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
            {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 1},
        ),
        (
            "Service",
            {"spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}], "selector": {"app": "x"}}},
            {"Type": "ClusterIP", "Cluster-IP": "10.0.0.1", "Port(s)": "80/TCP", "Selector": "app=x"},
        ),
        (
            "EndpointSlice",
            {
                "addressType": "IPv4",
                "ports": [{"port": 80}],
                "endpoints": [{"addresses": [f"10.0.0.{n}"]} for n in range(5)],
            },
            {"AddressType": "IPv4", "Ports": "80", "Endpoints": "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more..."},
        ),
        ("Lease", {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
        ("Namespace", {"status": {"phase": "Terminating"}}, {"Status": "Terminating"}),
        ("ConfigMap", {"data": {"a": "b"}}, {"Data": 1}),
    ],
)
def test_cells_are_worded_as_kubectl_prints_them(kind: str, obj: Json, cells: dict[str, Any]) -> None:
    """Each kind has its columns; the name comes first."""
    found = row(kind, obj)
    assert next(iter(found)) == "Name"
    assert {name: found[name] for name in cells} == cells


def test_events_begin_with_when_they_were_seen() -> None:
    """The one kind whose name comes last, and only when wide."""
    about = {"kind": "Pod", "name": "web-1"}
    found = row(
        "Event", {"involvedObject": about, "lastTimestamp": CREATED, "reason": "R", "message": "m\n", "count": 3}
    )
    assert next(iter(found)) == "Last Seen"
    assert (found["Last Seen"], found["Object"], found["Message"], found["Count"]) == ("5m", "pod/web-1", "m", 3)
    assert list(found)[-1] == "Name"


def container(ready: bool = False, **state: Json) -> Json:
    return {"ready": ready, "state": state}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Running", "containerStatuses": [container(True, running={})]}, "Running"),
        (
            {"phase": "Running", "containerStatuses": [container(waiting={"reason": "CrashLoopBackOff"})]},
            "CrashLoopBackOff",
        ),
        ({"phase": "Running", "containerStatuses": [container(terminated={"reason": "OOMKilled"})]}, "OOMKilled"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Succeeded", "containerStatuses": [container(terminated={"reason": "Completed"})]}, "Completed"),
        ({"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]}, "ExitCode:3"),
        ({"phase": "Failed", "containerStatuses": [container(terminated={"signal": 9})]}, "Signal:9"),
        ({"phase": "Pending", "initContainerStatuses": [container(running={}), container()]}, "Init:0/2"),
        ({"phase": "Pending", "initContainerStatuses": [container(terminated={"exitCode": 1})]}, "Init:ExitCode:1"),
    ],
)
def test_what_a_pod_is_doing(status: Json, told: str) -> None:
    """The most telling word: phase, reason, a container's state, an init container's progress."""
    assert pod_status({"metadata": {}, "status": status}) == told


def test_a_pod_on_its_way_out_is_terminating_until_it_has_ended() -> None:
    """deletionTimestamp counts unless the pod has come to an end."""
    leaving = {"deletionTimestamp": CREATED}
    assert pod_status({"metadata": leaving, "status": {"phase": "Running"}}) == "Terminating"
    assert pod_status({"metadata": leaving, "status": {"phase": "Succeeded"}}) == "Succeeded"


def test_restarts_say_when_the_last_was() -> None:
    """Count, and how long ago the last container ended."""
    ended = {"terminated": {"finishedAt": CREATED}}
    statuses = [{"restartCount": 2, "lastState": ended, "ready": True, "state": {"running": {}}}]
    found = row("Pod", {"spec": {"containers": [{}]}, "status": {"phase": "Running", "containerStatuses": statuses}})
    assert (found["Ready"], found["Restarts"]) == ("1/1", "2 (5m ago)")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-10, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (10_799, "179m"),
        (10_800, "3h"),
        (28_740, "7h59m"),
        (100_000, "27h"),
        (180_000, "2d2h"),
        (864_000, "10d"),
    ],
)
def test_ages(seconds: int, told: str) -> None:
    """The shorter an age, the finer its units."""
    assert since((NOW - timedelta(seconds=seconds)).isoformat(), NOW) == told


@pytest.mark.parametrize(
    ("path", "found"),
    [(".a.b", 1), (".a.c[1].d", 2), (".a.c[9].d", None), (".a.x\\.y/z", 3), (".nope.b", None)],
)
def test_json_paths_of_printer_columns(path: str, found: Any) -> None:
    """Members, indexes, escaped dots; None for what is not there."""
    assert json_path({"a": {"b": 1, "c": [{}, {"d": 2}], "x.y/z": 3}}, path) == found
