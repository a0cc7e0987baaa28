"""One run from beginning to end, and the invariants it is held to."""

import contextlib
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import requests

from remediator.drill.processes import free_port
from tests.chaos.stage import NODE, POLICY, TAINT, Json, Stage
from tests.chaos.weather import Weather

LONGEST_SECONDS = 120.0
WEBHOOK: Json = {
    "version": "4",
    "alerts": [
        {"status": "firing", "labels": {"alertname": "NodeMemoryPressure", "node": NODE, "level": "red"}}
        | {"annotations": {}, "startsAt": "2026-12-01T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z", "fingerprint": "f1"}
    ],
}


@dataclass(slots=True)
class Result:
    """What a run came to; `broken` is empty when every invariant held."""

    weather: Weather
    broken: list[str] = field(default_factory=list)
    killed: bool = False
    evictions: int = 0
    seconds: float = 0.0
    logs: str = ""


def run(weather: Weather, keep: Path | None = None) -> Result:
    """Start everything, let the weather come, wait for the end, judge. Logs of a broken run stay in `keep`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        stage = Stage(weather, Path(directory))
        try:
            ended = _lived_through(stage)
        finally:
            stage.end()
        result = Result(weather, _broken(stage, ended), bool(stage.killed))
        result.evictions = len(_accepted(stage))
        if result.broken and keep is not None:
            target = keep / f"seed-{weather.seed}"
            target.mkdir(parents=True, exist_ok=True)
            for file in Path(directory).rglob("*"):
                if file.is_file():
                    (target / "-".join(file.relative_to(directory).parts)).write_bytes(file.read_bytes())
            (target / "asked").write_text("\n".join(map(str, stage.asked)))
            result.logs = str(target)
    result.seconds = time.monotonic() - began
    return result


def _lived_through(stage: Stage) -> bool:
    """Two replicas, and two Alertmanagers that send the same bytes to both of them again and again."""
    stage.start_servers()
    ports = {"replica-a": free_port(), "replica-b": free_port()}
    for name, port in ports.items():
        stage.start_replica(name, port)
    _wait_until_up(stage, list(ports))
    stage.begin()
    end = time.monotonic() + LONGEST_SECONDS
    returned = not stage.weather.restart
    while time.monotonic() < end:
        for name in ports:
            with contextlib.suppress(requests.RequestException):
                requests.post(f"{stage.urls[name]}/api/v1/alerts", json=WEBHOOK, timeout=2)
        if stage.killed and not returned:
            stage.replicas[stage.killed[0]].wait(10)
            stage.start_replica(stage.killed[0], ports[stage.killed[0]])
            returned = True
        if stage.fair and _at_its_end(stage):
            # Who was killed with the last word in hand closes it when he is back.
            _wait_until_up(stage, [name for name in stage.killed if stage.weather.restart])
            return True
        time.sleep(0.25)
    return False


def _wait_until_up(stage: Stage, names: list[str]) -> None:
    end = time.monotonic() + 30
    for name in names:
        while time.monotonic() < end:
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{stage.urls[name]}/healthz", timeout=2).status_code == 200:
                    break
            time.sleep(0.05)


def _object(stage: Stage, path: str) -> Json:
    """Empty when there is none, or the weather keeps us from seeing it."""
    with contextlib.suppress(requests.RequestException):
        answer = requests.get(f"{stage.urls['cluster']}{path}", timeout=5)
        return dict(answer.json()) if answer.status_code == 200 else {}
    return {}


def _at_its_end(stage: Stage) -> bool:
    """The node is relieved, open again, and its record says so."""
    node = _object(stage, f"/api/v1/nodes/{NODE}")
    found = _object(stage, f"/apis/remediator.io/v1alpha1/noderemediations/{NODE}")
    record = found.get("status") or {}
    ours = "remediator.io/cordoned-by" in str(node.get("metadata"))
    open_again = bool(node) and not node["spec"].get("unschedulable") and not ours
    rests = record.get("phase") in ("WATCHING", "COOLING_DOWN") and record.get("isolation") == "NONE"
    relieved = stage.cluster.world.state()["nodes"][NODE]["used_ratio"] <= POLICY["safe_used_ratio"]
    return open_again and rests and relieved


def _accepted(stage: Stage) -> list[str]:
    """UIDs of evictions that took effect, in order."""
    taken = [asked for asked in stage.asked if asked.path.endswith("/eviction") and asked.status == 201]
    return [str(json.loads(asked.body)["deleteOptions"]["preconditions"]["uid"]) for asked in taken]


def _broken(stage: Stage, ended: bool) -> list[str]:
    """The invariants that did not hold."""
    evicted, audit = _accepted(stage), list(stage.audit())
    pods = {e["uid"]: e for e in stage.cluster.world.chronicle.events if e["what"] == "pod_terminating"}
    intents = {line["action"]["pod_uid"] for line in audit if line["kind"] == "intent"}
    found = [f"evicted twice: {uid}" for uid, times in Counter(evicted).items() if times > 1]
    found += [f"no intent line: {uid}" for uid in evicted if uid not in intents]
    found += [f"no record before the act: {uid}" for uid in evicted if not _recorded_before(stage, uid)]
    protected = [e["name"] for uid, e in pods.items() if uid in evicted and e["namespace"] in ("shop", "data")]
    found += [f"protected pod evicted: {name}" for name in protected]
    if len(set(evicted)) > POLICY["caps"]["evictions_per_hour"]:
        found.append(f"{len(set(evicted))} evictions, the cap is {POLICY['caps']['evictions_per_hour']}")
    found += _foreign(stage)
    if any(asked.method == "DELETE" and "/pods/" in asked.path for asked in stage.asked):
        found.append("a pod was deleted, not evicted")
    if not ended:
        found.append(f"no end within {LONGEST_SECONDS:g} s")
    alone = bool(stage.killed) and not stage.weather.restart
    return found + (_unanswered(audit, gone_for_good=alone) if ended else [])


def _recorded_before(stage: Stage, uid: str) -> bool:
    """The record with the pod's eviction in its plan was written before the eviction was asked for."""
    for asked in stage.asked:
        if asked.path.endswith("/status") and asked.status < 300 and uid in asked.body:
            return True
        if asked.path.endswith("/eviction") and uid in asked.body:
            return False
    return False


def _foreign(stage: Stage) -> list[str]:
    """Cordons and taints that are not ours are as they were."""
    store, found = stage.cluster.store, []
    if TAINT not in (store.get("Node", None, NODE)["spec"].get("taints") or []):
        found.append("a foreign taint is gone")
    if not store.get("Node", None, "node-3")["spec"].get("unschedulable"):
        found.append("a foreign cordon is gone")
    return found


def _unanswered(audit: list[Json], *, gone_for_good: bool) -> list[str]:
    """Each intent has an end in the audit, once the story is over.

    What a replica that never came back had announced to give back is closed by itself when it does: it alone knows.
    """
    count: Counter[tuple[str, ...]] = Counter()
    for line in audit:
        if line["kind"] in ("intent", "result", "abandoned"):
            key = (line["plan_id"], line["action"]["kind"], line["action"]["pod_uid"] or "")
            count[key] += 1 if line["kind"] == "intent" else -1
    left = [key for key, open_intents in count.items() if open_intents > 0]
    given_back = ("untaint", "uncordon", "restore_endpoints", "restore_scale") if gone_for_good else ()
    return [f"an intent without an end: {' '.join(key)}" for key in left if key[1] not in given_back]
