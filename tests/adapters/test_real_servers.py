"""The queries and questions, asked of a real Prometheus and a real Alertmanager."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from remediator.adapters.alertmanager import AlertmanagerSilences
from remediator.adapters.prometheus import PrometheusMetrics, pod_query
from remediator.core.model import Level, MemoryFacts, SignalKind, Unknown
from remediator.core.reason import Reason
from remediator.drill.processes import Processes, answers, free_port
from tests.adapters.canned import Answer, Canned, answering
from tests.rules.conftest import find_tool

pytestmark = pytest.mark.acceptance
GIB = 2**30
SPEED = 25.0
"""Our exporter is scraped every 5 s, so here every 200 ms."""
A, B, OLD = (f"0a1b2c3d-0000-4000-8000-00000000000{n}" for n in "abc")


def until(ask: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 20.0) -> Any:
    """The first answer that is wanted."""
    end = time.monotonic() + seconds
    while not wanted(found := ask()):
        assert time.monotonic() < end, f"still {found}"
        time.sleep(0.02)
    return found


def known(found: Any) -> bool:
    return not isinstance(found, Unknown)


def line(name: str, value: float, **labels: str) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}"


def recorded(node: str = "n1") -> list[str]:
    """What the rules would record of a node, given as if it were scraped."""
    values = {"level": 3, "total:bytes": 64 * GIB, "available:bytes": 4 * GIB, "pressure:score": 77}
    found = [line(f"node:memory_{name}", value, node=node) for name, value in values.items()]
    found.append(line("node:memory_threshold:ratio", 0.92, node=node, level="red", edge="enter"))
    found.append(line("cgroup_memory_anon_bytes", 5 * GIB, node=node, level="system", path="/system.slice"))
    found.append(line("ALERTS", 1, alertname="NodeMemoryPressure", alertstate="firing", level="red", node=node))
    return found


def raw(node: str = "n1") -> list[str]:
    free = line("memory_exporter_node_memory_free_bytes", GIB, node=node)
    return [line("memory_exporter_node_memory_available_bytes", 4 * GIB, node=node), free]


def cgroup(uid: str, gib: float, node: str = "n1") -> list[str]:
    labels = {"node": node, "level": "pod", "uid": uid}
    values = {"working_set": gib, "anon": gib / 2, "shmem": gib / 4}
    return [line(f"cgroup_memory_{name}_bytes", value * GIB, **labels) for name, value in values.items()]


def cadvisor(pod: str, uid: str, gib: float, container: str = "c", scope: str = "s") -> str:
    cgroup_path = (
        f"/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice/cri-containerd-{scope}.scope" if uid else ""
    )
    labels = {"node": "n1", "namespace": "shop", "pod": pod, "container": container, "id": cgroup_path}
    return line("container_memory_working_set_bytes", gib * GIB, **labels)


class Stack:
    """A real Prometheus that scrapes pages whose lines the test sets, each with the target labels it is given."""

    def __init__(self, processes: Processes, server: Canned, directory: Path) -> None:
        self._processes, self._directory = processes, directory
        self.pages: dict[str, list[str]] = {}
        server.answer = lambda asked: Answer(
            200 if asked.path[1:] in self.pages else 404,
            "\n".join([*self.pages.get(asked.path[1:], []), ""]).encode(),
            {"Content-Type": "text/plain; version=0.0.4"},
        )
        self._server, self.url = server, f"http://127.0.0.1:{free_port()}"

    def start(self, **jobs: dict[str, str]) -> PrometheusMetrics:
        """Scrape these pages with these target labels."""
        target = self._server.url.removeprefix("http://")
        configs = [
            {
                "job_name": job,
                "metrics_path": f"/{job}",
                "honor_labels": True,
                "static_configs": [{"targets": [target], "labels": labels}],
            }
            for job, labels in jobs.items()
        ]
        text = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"}, "scrape_configs": configs}
        (self._directory / "prometheus.yml").write_text(yaml.safe_dump(text))
        command = [
            str(find_tool("prometheus")),
            f"--config.file={self._directory}/prometheus.yml",
            f"--storage.tsdb.path={self._directory}/data",
            f"--web.listen-address={self.url.removeprefix('http://')}",
        ]
        self._processes.start("prometheus", command)
        self._processes.wait_for("prometheus", lambda: answers(f"{self.url}/-/ready"))
        return PrometheusMetrics(self.url, speed=SPEED)

    def query(self, text: str) -> dict[str, Any]:
        found: dict[str, Any] = requests.get(f"{self.url}/api/v1/query", params={"query": text}, timeout=5).json()
        return found


@pytest.fixture
def stack(tmp_path) -> Iterator[Stack]:
    with Processes(tmp_path / "logs") as processes, answering() as start:
        yield Stack(processes, start(lambda asked: {}), tmp_path)


def test_a_node_and_its_pods_are_read_in_two_round_trips(stack):
    """Level, bytes, thresholds, slices and sample time; usage, releasable bytes and growth of each pod; the clock."""
    stack.pages["exporter"] = recorded() + raw() + cgroup(A, 4) + cgroup(B, 1) + cgroup(OLD, 1, node="n2")
    metrics = stack.start(exporter={})
    memory = until(lambda: metrics.memory("n1"), known)
    assert (memory.level, memory.total_bytes, memory.available_bytes) == (Level.RED, 64 * GIB, 4 * GIB)
    assert (memory.score, memory.free_bytes, memory.thresholds) == (77, GIB, {"red/enter": 0.92})
    assert memory.system_slices == {"/system.slice": 5 * GIB}
    now = metrics.now()
    assert abs(now - memory.sampled_at) < 5
    usages = until(lambda: metrics.usages("n1"), lambda found: known(found) and found[A].growth_bytes_per_second == 0)
    assert set(usages) == {A, B}
    assert (usages[A].working_set_bytes, usages[A].releasable_bytes) == (4 * GIB, 3 * GIB)
    assert (usages[A].working_set_max_bytes, usages[A].source) == (4 * GIB, "exporter")
    assert metrics.levels() == {"n1": Level.RED}
    (signal,) = metrics.firing(["NodeMemoryPressure"])
    assert (signal.kind, signal.node, signal.level) == (SignalKind.RESYNC, "n1", Level.RED)
    assert metrics.firing(["NodeMemoryPressur"]) == []
    assert metrics.ready() == ""


def test_b17_a_partial_scrape_is_waited_out(stack):
    """The top pod is missing from one scrape: Unknown, until the next scrape agrees; then the set is believed."""
    stack.pages["exporter"] = recorded() + raw() + cgroup(A, 4) + cgroup(B, 1)
    metrics = stack.start(exporter={})
    until(lambda: metrics.usages("n1"), lambda found: known(found) and len(found) == 2)
    stack.pages["exporter"] = recorded() + raw() + cgroup(B, 1)
    partial = until(lambda: metrics.usages("n1"), lambda found: found != {} and (not known(found) or A not in found))
    assert isinstance(partial, Unknown)
    assert partial.reason is Reason.DATA_PARTIAL
    assert set(until(lambda: metrics.usages("n1"), known)) == {B}


def test_b18_an_exporter_that_misses_scrapes_does_not_make_the_pods_vanish(stack):
    """The target is down: first the scrapes disagree, then nobody measures; never an empty node."""
    stack.pages["exporter"] = recorded() + raw() + cgroup(A, 4)
    stack.pages["rules"] = recorded()
    metrics = stack.start(exporter={}, rules={})
    until(lambda: metrics.usages("n1"), known)
    del stack.pages["exporter"]
    seen: list[Any] = []
    until(lambda: seen.append(metrics.usages("n1")) or seen[-1], lambda found: not known(found))
    until(
        lambda: seen.append(metrics.usages("n1")) or seen[-1],
        lambda found: not known(found) and found.reason is Reason.DATA_UNKNOWN,
    )
    assert all(found for found in seen)
    memory = until(lambda: metrics.memory("n1"), lambda found: not known(found))
    assert "blind" in memory.why


def test_b15_duplicate_series_break_no_query(stack):
    """Two jobs scrape the same pages, two copies of kube-state-metrics run: one answer, each pod once."""
    page = recorded() + raw() + cgroup(A, 4) + [line("kube_pod_info", 1, namespace="shop", pod="web", uid=A, node="n1")]
    stack.pages |= {"one": page, "two": page}
    metrics = stack.start(one={"copy": "1"}, two={"copy": "2"})
    usages = until(lambda: metrics.usages("n1"), known)
    assert usages[A].working_set_bytes == 4 * GIB
    assert isinstance(until(lambda: metrics.memory("n1"), known), MemoryFacts)


def test_two_clusters_behind_one_url_are_told_apart_by_nobody(stack):
    """A node of the same name in another cluster: its figures are never taken for ours."""
    other = [text.replace(str(4 * GIB), str(60 * GIB)) for text in recorded()]
    stack.pages |= {"eu": recorded() + raw(), "us": other + raw()}
    metrics = stack.start(eu={"cluster": "eu"}, us={"cluster": "us"})
    found = until(lambda: metrics.memory("n1"), lambda found: not known(found) and "twice" in found.why)
    assert "several clusters" in found.why


def test_cadvisor_stands_in_where_our_exporter_is_not(stack):
    """UIDs come from the cgroup's path, else from kube-state-metrics; the pause container is not added."""
    stack.pages["cadvisor"] = [
        cadvisor("web", A, 2),
        cadvisor("web", A, 1, container="sidecar", scope="t"),
        cadvisor("web", A, 4, container=""),
        cadvisor("web", A, 1, container="POD", scope="p"),
        cadvisor("api", "", 1),
        line("kube_pod_info", 1, namespace="shop", pod="api", uid=B, node="n1"),
    ]
    metrics = stack.start(cadvisor={})
    usages = until(lambda: metrics.usages("n1"), known)
    assert {uid: (u.working_set_bytes // GIB, u.source) for uid, u in usages.items()} == {
        A: (3, "cadvisor"),
        B: (1, "cadvisor"),
    }


def test_the_age_of_the_raw_sample_is_found_by_every_join(stack):
    """node-exporter's series carry a node, its name as instance, or only the pod that was scraped."""
    joins = {
        "labelled": {"node": "n.1"},
        "named": {"instance": "n.2"},
        "ported": {"instance": "n.3:9100"},
        "scraped": {"namespace": "mon", "pod": "ne-4"},
    }
    names = [f"n.{number}" for number in (1, 2, 3, 4, 5)]
    stack.pages = {key: [line("node_memory_MemAvailable_bytes", 4 * GIB)] for key in joins}
    pod = line("namespace_pod:node_exporter_node:info", 1, namespace="mon", pod="ne-4", node="n.4")
    stack.pages["rules"] = [*(text for name in names for text in recorded(name)), pod]
    metrics = stack.start(rules={}, **joins)
    for name in names[:4]:
        memory = until(lambda name=name: metrics.memory(name), known)
        assert abs(metrics.now() - memory.sampled_at) < 5
    assert metrics.memory("n.5").why == "n.5 is blind: no sampled_at"


def test_no_name_leaves_its_quotes(stack):
    """Whatever a node is called, the query stays one and is understood by Prometheus."""
    stack.pages["exporter"] = recorded()
    metrics = stack.start(exporter={})
    until(metrics.levels, lambda found: found == {"n1": Level.RED})
    for name in ('a"b', "a\\b", "a\nb", "ä€", "a'} or up{x=", "a\tb", "[x]", ""):
        assert "blind" in metrics.memory(name).why
        assert "nobody measures" in metrics.usages(name).why
        assert metrics.firing([name]) == []
        assert stack.query(pod_query(name, scrape_seconds=30))["status"] == "success"


def test_a_real_alertmanager_s_silences_hold_the_alert(tmp_path):
    """Posted alert, created silence: found with its labels; a second peer that is away changes nothing."""
    port, config = free_port(), tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
    url = f"http://127.0.0.1:{port}"
    with Processes(tmp_path / "logs") as processes:
        command = [
            str(find_tool("alertmanager")),
            f"--config.file={config}",
            f"--storage.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ]
        processes.start("alertmanager", command)
        processes.wait_for("alertmanager", lambda: answers(f"{url}/-/ready"))
        labels = {"alertname": "NodeMemoryPressure", "node": 'n"1', "level": "red", "cluster": "eu"}
        requests.post(f"{url}/api/v2/alerts", json=[{"labels": labels}], timeout=5).raise_for_status()
        silences = AlertmanagerSilences([url, "http://127.0.0.1:9"])
        read = lambda: silences.read('n"1', "NodeMemoryPressure", Level.RED)  # noqa: E731
        found = until(read, lambda facts: known(facts) and facts.alert_labels)
        assert (found.alert_labels, found.silences) == (labels, ())
        now = datetime.now(UTC)
        body = {
            "matchers": [{"name": "node", "value": 'n"1', "isRegex": False, "isEqual": True}],
            "startsAt": now.isoformat(),
            "endsAt": (now + timedelta(hours=1)).isoformat(),
            "createdBy": "alice",
            "comment": "upgrade",
        }
        made = requests.post(f"{url}/api/v2/silences", json=body, timeout=5).json()["silenceID"]
        held = until(read, lambda facts: known(facts) and facts.alert_silenced_by)
        assert held.alert_silenced_by == (made,)
        requests.delete(f"{url}/api/v2/silence/{made}", timeout=5).raise_for_status()
        assert until(read, lambda facts: known(facts) and not facts.silences).alert_silenced_by == ()
