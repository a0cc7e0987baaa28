"""An ordinary kubectl against the simulated server, as a process, over real HTTP."""

import json
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.captured import capture
from tests.drill.apiserver.conftest import pod
from tests.simulated import Served

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")
Run = Callable[..., str]
SHIPPED_CRD = Path(__file__).parents[3] / "helm" / "remediator" / "crds" / "noderemediations.yaml"


@pytest.fixture
def run(kubeconfig: Path, tmp_path: Path) -> Run:
    """Run kubectl; its standard output, and an assertion that it ended well (or not)."""

    def call(*arguments: str, fails: bool = False, stdin: str = "") -> str:
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path / "cache"), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return call


@pytest.fixture
def with_record(cluster: Served, run: Run) -> Served:
    """The shipped CRD, applied by kubectl, and a record."""
    assert "created" in run("apply", "-f", str(SHIPPED_CRD))
    record = {"metadata": {"name": "n1"}, "spec": {"mode": "observe"}, "status": {"level": "RED", "phase": "ACTING"}}
    cluster.inside(Store.create, "NodeRemediation", record)
    return cluster


def test_what_an_operator_looks_at(with_record: Served, run: Run) -> None:
    """`kubectl get nodes,pods,nrem -A` in one go: tables, short names, printer columns."""
    shown = run("get", "nodes,pods,nrem", "-A")
    assert "node/n1" in shown and "pod/web-1" in shown
    assert "noderemediation.remediator.io/n1" in shown
    assert "LEVEL" in shown and "RED" in shown and "ACTING" in shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("get", "pods", "-A", "-o", "wide"), "NOMINATED NODE"),
        (("get", "po", "web-1", "-n", "shop", "-o", "yaml"), "nodeName: n1"),
        (("get", "pods", "-n", "shop", "-o", "json"), '"kind": "Pod"'),
        (("get", "pods", "-n", "shop", "-o", "jsonpath={.items[0].metadata.name}"), "web-1"),
        (("get", "pods", "-n", "shop", "-l", "app in (web),!x", "--field-selector", "spec.nodeName=n1"), "web-1"),
        (("get", "pods", "-n", "shop", "--sort-by", ".metadata.name"), "web-1"),
        (("get", "nodes", "--show-labels"), "pool=a"),
        (("describe", "node", "n1"), "web-1"),
        (("describe", "pod", "web-1", "-n", "shop"), "Events:"),
        (("api-resources",), "poddisruptionbudgets"),
        (("api-versions",), "discovery.k8s.io/v1"),
        (("version",), "v1.36"),
        (("get", "--raw", "/readyz"), "ok"),
    ],
)
def test_kubectl_reads(run: Run, arguments: tuple[str, ...], shown: str) -> None:
    """Output forms, selectors, descriptions, discovery."""
    assert shown in run(*arguments)


def test_cordon_taint_label_annotate(cluster: Served, run: Run) -> None:
    """What kubectl says it has done is in the store, and undone again."""
    run("cordon", "n1")
    run("taint", "node", "n1", "x=y:NoSchedule", "keep=z:NoExecute")
    run("label", "node", "n1", "pool=b", "--overwrite")
    run("annotate", "node", "n1", "why=because")
    changed = cluster.inside(Store.get, "Node", None, "n1")
    assert changed["spec"]["unschedulable"] is True
    assert {taint["key"] for taint in changed["spec"]["taints"]} == {"x", "keep"}
    assert (changed["metadata"]["labels"], changed["metadata"]["annotations"]) == ({"pool": "b"}, {"why": "because"})
    run("uncordon", "n1")
    run("taint", "node", "n1", "x-")
    run("label", "node", "n1", "pool-")
    restored = cluster.inside(Store.get, "Node", None, "n1")
    assert not restored["spec"].get("unschedulable")
    assert [taint["key"] for taint in restored["spec"]["taints"]] == ["keep"]
    assert not restored["metadata"].get("labels")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"metadata":{"labels":{"a":"b"}}}'),
        ("strategic", '{"metadata":{"labels":{"a":"b"}}}'),
        (
            "json",
            '[{"op":"test","path":"/metadata/name","value":"n1"},{"op":"add","path":"/metadata/labels/a","value":"b"}]',
        ),
    ],
)
def test_kubectl_patches(cluster: Served, run: Run, kind: str, patch: str) -> None:
    """All three kinds of patch."""
    run("patch", "node", "n1", "--type", kind, "-p", patch)
    assert cluster.inside(Store.get, "Node", None, "n1")["metadata"]["labels"]["a"] == "b"


def test_a_record_s_mode_is_changed_as_the_manual_says(with_record: Served, run: Run) -> None:
    """merge patches of spec and status; a wrong mode and a wrong key are refused in words."""
    run("patch", "nrem", "n1", "--type", "merge", "-p", '{"spec":{"mode":"off"}}')
    run("patch", "nrem", "n1", "--type", "merge", "--subresource", "status", "-p", '{"status":{"phase":"IDLE"}}')
    record = with_record.inside(Store.get, "NodeRemediation", None, "n1")
    assert (record["spec"]["mode"], record["status"]["phase"]) == ("off", "IDLE")
    refused = run("patch", "nrem", "n1", "--type", "merge", "-p", '{"spec":{"mode":"sometimes"}}', fails=True)
    assert 'supported values: "off", "observe", "approve", "enforce"' in refused
    manifest = {"apiVersion": "remediator.io/v1alpha1", "kind": "NodeRemediation", "metadata": {"name": "n2"}}
    wrong = run("apply", "-f", "-", stdin=json.dumps({**manifest, "spec": {"moed": "off"}}), fails=True)
    assert 'unknown field "spec.moed"' in wrong


@pytest.mark.parametrize("options", [(), ("--server-side", "--force-conflicts")])
def test_kubectl_applies_twice(cluster: Served, run: Run, options: tuple[str, ...]) -> None:
    """Client-side and server-side apply create, then change."""
    for value in ("1", "2"):
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}
        run("apply", *options, "-f", "-", stdin=json.dumps({**manifest, "data": {"a": value}}))
    assert cluster.inside(Store.get, "ConfigMap", "shop", "c")["data"] == {"a": "2"}


def test_kubectl_waits_until_a_pod_is_gone(cluster: Served, run: Run) -> None:
    """`delete` returns when the kubelet has removed the pod, not before."""

    def kubelet(change: str, kind: str, obj: dict[str, dict[str, str]]) -> None:
        if kind == "Pod" and change == "MODIFIED" and "deletionTimestamp" in obj["metadata"]:
            timer.start()

    timer = threading.Timer(0.3, lambda: cluster.inside(Store.delete, "Pod", "shop", "web-1"))
    cluster.inside(Store.subscribe, kubelet)
    assert "deleted" in run("delete", "pod", "web-1", "-n", "shop")
    assert cluster.inside(Store.find, "Pod", "shop", "web-1") is None


def test_kubectl_drains(cluster: Served, run: Run) -> None:
    """Cordon and evict by kubectl, through the eviction subresource; pods of budgets that say no stay."""
    cluster.inside(Store.delete, "Pod", "shop", "web-1")
    ended = {**pod("done"), "status": {"phase": "Succeeded"}}
    cluster.inside(Store.create, "Pod", pod("done"))
    cluster.inside(Store.update, "Pod", ended, subresource="status")
    run("drain", "n1", "--force", "--timeout", "20s")
    asked = [each for each in cluster.ask("GET", "/drill/requests").json() if each.get("subresource") == "eviction"]
    assert [(each["name"], each["status"]) for each in asked] == [("done", 201)]


def test_kubectl_scales(cluster: Served, run: Run) -> None:
    """Through the scale subresource."""
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}
    cluster.inside(Store.create, "Deployment", {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec})
    run("scale", "deployment", "web", "-n", "shop", "--replicas", "3")
    assert cluster.inside(Store.get, "Deployment", "shop", "web")["spec"]["replicas"] == 3


def test_kubectl_shows_events(cluster: Served, run: Run) -> None:
    """`get events` and `events`."""
    about = {"kind": "Pod", "name": "web-1", "namespace": "shop"}
    event = {"metadata": {"generateName": "e", "namespace": "shop"}, "involvedObject": about, "reason": "Evicted"}
    cluster.inside(Store.create, "Event", {**event, "type": "Warning", "message": "told"})
    assert "pod/web-1" in run("get", "events", "-n", "shop")
    assert "told" in run("events", "-n", "shop")


def test_kubectl_watches(cluster: Served, kubeconfig: Path, tmp_path: Path) -> None:
    """`-w` shows what is there, and then each change as a line of the same table."""
    arguments = ["get", "pods", "-n", "shop", "--watch"]
    command = ["kubectl", "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path / "cache"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout is not None
            head, first = watching.stdout.readline(), watching.stdout.readline()
            assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
            assert first.startswith("web-1")
            cluster.ask("DELETE", "/api/v1/namespaces/shop/pods/web-1", {})
            assert "Terminating" in watching.stdout.readline()
        finally:
            watching.terminate()


def test_a_captured_crd_is_shown_with_its_columns(cluster: Served, run: Run) -> None:
    """A CRD created over HTTP is served at once, with its short name."""
    asked = capture("42")["request"]
    assert cluster.ask("POST", asked["path"], asked["body"]).status_code == 201
    cluster.inside(Store.create, "NodeRemediation", {"metadata": {"name": "n1"}, "status": {"level": "RED"}})
    assert run("get", "nrem").split()[:3] == ["NAME", "LEVEL", "PHASE"]
