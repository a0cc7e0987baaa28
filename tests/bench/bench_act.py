"""`make bench-act`: how fast an alert becomes an act, what storms of webhooks do, and whether a replica grows.

1. From a webhook's arrival to the first eviction request, on nodes of 110 pods, as the simulated API server's log has
   it; beside it the sum of the round trips that cannot be avoided, as bare HTTP calls to the same servers in the same
   run, one at a time on a kept connection: the webhook; the clock, memory, levels and pods of Prometheus; the silences
   and alerts of Alertmanager; the node, its pods and the fleet's records; every list that a decision about these pods
   looks at; the node's Lease and the turn, taken and given back; the record (intent), cordon and taint (read, then
   patch), the record again, and all that may say no a second time; the eviction (as a dry run).
2. Storms: one body of 1,000 alerts; 500 one-alert bodies a second for 10 s; as many as go, beside a bare Flask handler.
3. Memory at rest, and over 10,000 episodes.

Writes build/bench/act.json (`figures`, `ratios`, `must`). Status 1: a bound is missed.
"""

import contextlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import requests
from act_stage import REPO, Stage, stage, wait_for
from act_storms import Storm, blow
from verdict import conclude

from remediator.drill.processes import free_port

MUST = {
    "act_to_round_trips": 1.5,
    "act_to_250_ms": 1.0,
    "first_act_to_250_ms": 1.0,
    "storm_of_alerts_p99_to_100_ms": 1.0,
    "storm_of_bodies_p99_to_100_ms": 1.0,
    "answers_lost": 0.0,
    "bare_flask_rate_to_ours": 2.0,
    "memory_at_rest_to_120_mib": 1.0,
    "memory_after_10000_episodes_to_first_1000": 1.1,
}
STAGES, NODES, OLD_SECONDS = 4, 10, 2.2
EPISODES, STORM_SECONDS, STORM_RATE, FAST_BODIES = 10_000, 10, 500, 3000
Json = dict[str, Any]


def log(text: str) -> None:
    """Progress, for people."""
    sys.stderr.write(f"bench-act: {text}\n")


# --- from alert to act -------------------------------------------------------------------------------------


def act_ms(on: Stage, node: str) -> float:
    """Milliseconds from sending the webhook to the arrival of the first eviction at the API server."""
    seen = len(on.requests())

    def eviction() -> Json | None:
        return next((r for r in on.requests()[seen:] if r["path"].endswith("/eviction")), None)

    on.prometheus.red.add(node)
    sent = time.time()
    requests.post(f"{on.product}/api/v1/alerts", json=on.webhook([node]), timeout=10).raise_for_status()
    time.sleep(0.5)  # asking for the log would compete with what is measured
    wait_for(lambda: eviction() is not None, f"an eviction from {node}", 20)
    arrived = datetime.fromisoformat((eviction() or {})["at"]).timestamp()
    wait_for(lambda: _settled(on, node), "the end of the act", 20)
    return (arrived - sent) * 1000


def _settled(on: Stage, node: str) -> bool:
    rows = requests.get(f"{on.product}/api/v1/nodes", timeout=10).json()["nodes"]
    return any(row["node"] == node and row["phase"] != "ACTING" for row in rows)


def round_trips_ms(on: Stage, node: str) -> float:
    """The sum of the bare calls, each the best of several."""
    session = requests.Session()

    def best(*call: Any, **options: Any) -> float:
        times = []
        for _ in range(7):
            began = time.perf_counter()
            session.request(*call, timeout=10, **options).content  # noqa: B018 - the body is read
            times.append((time.perf_counter() - began) * 1000)
        return min(times)

    return sum(best(method, url, **options) * times for method, url, times, options in _bare_calls(on, node))


def _bare_calls(on: Stage, node: str) -> list[tuple[str, str, int, Json]]:
    """(method, URL, how often, options)."""
    api, pods = on.cluster, f"{on.cluster}/api/v1/pods?fieldSelector=spec.nodeName%3D{node}&limit=500"
    query = f"{on.prometheus_url}/api/v1/query?query="
    found = requests.get(pods, timeout=10).json()["items"]
    pod = next(each["metadata"] for each in found if each["metadata"]["namespace"] == "batch")
    records = f"{api}/apis/remediator.io/v1alpha1/noderemediations"
    leases = f"{api}/apis/coordination.k8s.io/v1/namespaces/remediator/leases"
    named = [("GET", f"{api}/{path}", 1, {}) for path in sorted({path for each in found for path in _lists(each)})]
    patch = {"data": "[]", "headers": {"Content-Type": "application/json-patch+json"}}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}} | {
        "metadata": {"name": pod["name"], "namespace": pod["namespace"]}
    }
    return [
        ("POST", f"{on.product}/api/v1/alerts", 1, {"json": on.webhook(["node-1"])}),
        *(("GET", query + text, 2, {}) for text in ("time()", "node:memory_level", f'__name__ node="{node}"')),
        ("GET", f'{query}node="{node}"', 1, {}),
        *(("GET", f"{on.alertmanager.url}/api/v2/{what}", 2, {}) for what in ("silences", "alerts")),
        ("GET", f"{api}/api/v1/nodes/{node}", 4, {}),
        ("GET", pods, 2, {}),
        ("GET", records, 2, {}),
        ("GET", f"{api}/apis/policy/v1/poddisruptionbudgets", 1, {}),
        *named,
        ("GET", f"{leases}/remediator-slot-0", 3, {}),
        ("PATCH", f"{leases}/remediator-slot-0", 3, {"data": "{}"} | {"headers": _MERGE}),
        ("PATCH", f"{records}/node-1/status", 3, {"data": "{}"} | {"headers": _MERGE}),
        ("PATCH", f"{api}/api/v1/nodes/{node}", 2, patch),
        ("POST", f"{api}/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}/eviction", 1, {"json": eviction}),
    ]


def _lists(pod: Json) -> list[str]:
    """What a decision about the pod looks at in its namespace: its workload's pods, its owners, its Services."""
    namespace, owner = pod["metadata"]["namespace"], pod["metadata"]["ownerReferences"][0]["kind"]
    owners = {"ReplicaSet": ("apps/v1/{}/replicasets", "apps/v1/{}/deployments"), "Job": ("batch/v1/{}/jobs",)}[owner]
    core = [f"api/v1/namespaces/{namespace}/{kind}" for kind in ("pods", "services")]
    groups = [*owners, "discovery.k8s.io/v1/{}/endpointslices"]
    return [*core, *(f"apis/{path}".format(f"namespaces/{namespace}") for path in groups)]


_MERGE = {"Content-Type": "application/merge-patch+json"}


def acting(figures: Json, ratios: dict[str, float]) -> None:
    """Acts on as many nodes as may be in an episode at once, each when everything remembered is old, a few times."""
    first, times, bare, rest = [], [], [], []
    for number in range(STAGES):
        log(f"acts on nodes of 110 pods, {number + 1} of {STAGES}")
        with stage(NODES) as on:
            rest.append(pss_mib(on.process.pid))
            first.append(act_ms(on, on.nodes[0]))
            for node in on.nodes[1:3]:
                time.sleep(OLD_SECONDS)
                times.append(act_ms(on, node))
            bare.append(round_trips_ms(on, on.nodes[-1]))
    figures |= {"first_acts_ms": first, "acts_ms": times, "round_trips_ms": bare, "memory_at_rest_mib": rest}
    usual, trips = statistics.median(times), statistics.median(bare)
    ratios |= {"act_to_round_trips": usual / trips, "act_to_250_ms": usual / 250}
    ratios["first_act_to_250_ms"] = statistics.median(first) / 250
    ratios["memory_at_rest_to_120_mib"] = max(rest) / 120


def pss_mib(pid: int) -> float:
    """Proportional resident memory of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    own = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return own / 1024 + sum(pss_mib(int(child)) for child in children)


# --- storms ------------------------------------------------------------------------------------------------


def storms(figures: Json, ratios: dict[str, float]) -> None:
    """On a cluster of 50 nodes under no pressure: every alert leads to a look, none to an act."""
    log("storms of webhooks")
    with stage(50, 20) as on:
        url = f"{on.product}/api/v1/alerts"
        one = blow(url, [on.webhook([on.nodes[n % 50] for n in range(1000)])])
        quiet(on)
        bodies = [on.webhook([on.nodes[n % 50]]) for n in range(STORM_RATE * STORM_SECONDS)]
        many = blow(url, bodies, STORM_RATE)
        quiet(on)
        fast = blow(url, bodies[:FAST_BODIES])
        figures["memory_after_storms_mib"] = pss_mib(on.process.pid)
    bare = bare_flask(bodies[:FAST_BODIES])
    figures |= {
        f"{name}_storm": told(storm) for name, storm in (("one", one), ("many", many), ("fast", fast), ("flask", bare))
    }
    ratios |= {"storm_of_alerts_p99_to_100_ms": one.p99_ms / 100, "storm_of_bodies_p99_to_100_ms": many.p99_ms / 100}
    ratios["answers_lost"] = sum(n for s in (one, many) for status, n in s.statuses.items() if status != 202)
    ratios["bare_flask_rate_to_ours"] = bare.per_second / fast.per_second


def quiet(on: Stage) -> None:
    """Until every signal had its pass."""

    def idle() -> bool:
        page = requests.get(f"{on.product}/metrics", timeout=10).text
        return "remediator_queue_length 0.0" in page

    wait_for(idle, "an empty queue", 60)


def told(storm: Storm) -> Json:
    """A storm as figures."""
    return {"per_second": storm.per_second, "p99_ms": storm.p99_ms, "statuses": storm.statuses}


def bare_flask(bodies: list[Json]) -> Storm:
    """The same bodies, to a handler that does nothing."""
    port = free_port()
    program = [sys.executable, str(Path(__file__).with_name("act_flask.py")), str(port)]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=REPO)
    url = f"http://127.0.0.1:{port}/api/v1/alerts"
    try:
        wait_for(lambda: requests.post(url, json=bodies[0], timeout=2).status_code == 202, "Flask")
        return blow(url, bodies)
    finally:
        process.terminate()
        process.wait(20)


# --- growth ------------------------------------------------------------------------------------------------


def growth(figures: Json, ratios: dict[str, float]) -> None:
    """10,000 episodes in one process."""
    log(f"{EPISODES} episodes")
    program = [sys.executable, str(Path(__file__).with_name("act_episodes.py")), str(EPISODES)]
    said = json.loads(subprocess.run(program, capture_output=True, text=True, check=True, cwd=REPO).stdout)
    figures["episodes"] = said
    ratios["memory_after_10000_episodes_to_first_1000"] = said["end_mib"] / said["first_tenth_mib"]


def main() -> int:
    """Measure, write, judge."""
    figures: Json = {}
    ratios: dict[str, float] = {}
    parts: tuple[Callable[[Json, dict[str, float]], None], ...] = (acting, storms, growth)
    for part in parts:
        part(figures, ratios)
    return conclude("act", figures, ratios, MUST)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
