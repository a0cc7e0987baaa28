"""The kubelets: pods start, become ready, use memory, are OOM-killed at their limit, terminate, are evicted.

Runs in scenario seconds. What it remembers of a pod is `PodLife`; everything others may see is in the store.
"""

from dataclasses import dataclass
from datetime import timedelta

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.scenario import WorkloadSpec
from remediator.drill.simulation.build import running_status
from remediator.drill.simulation.memory import interpolate
from remediator.drill.simulation.quantities import memory_of

_LONG_AGO = -3600.0
_RAMP_SECONDS = 5.0
_FIRST_WORDS_SECONDS = 1.0


@dataclass(slots=True)
class PodLife:
    """What one kubelet knows of one pod."""

    spec: WorkloadSpec | None
    started_at: float
    ready: bool = False
    terminating_at: float | None = None
    bytes_at_termination: int = 0
    restarts: int = 0
    bytes: int = 0


class Kubelets:
    """All nodes' kubelets over one store."""

    def __init__(self, store: Store, workloads: dict[tuple[str, str], WorkloadSpec], speed: float) -> None:
        self._store, self._workloads, self._speed = store, workloads, speed
        self.lives: dict[str, PodLife] = {}

    def adopt_running(self) -> None:
        """Take over the pods that have been running for an hour."""
        for pod in self._store.list("Pod"):
            self.lives[pod["metadata"]["uid"]] = PodLife(self._spec(pod), _LONG_AGO, ready=True)
        self.tick(0.0)

    def usage(self, pod: Json) -> int:
        """Bytes the pod holds now."""
        life = self.lives.get(pod["metadata"]["uid"])
        return life.bytes if life is not None else 0

    def on_node(self, node: str) -> list[Json]:
        """Pods of a node that hold memory."""
        return [pod for pod in self._store.pods_on(node) if pod["metadata"]["uid"] in self.lives]

    def tick(self, now: float) -> None:
        """Move every pod on to a moment."""
        present = set()
        for pod in self._store.list("Pod"):
            uid = pod["metadata"]["uid"]
            present.add(uid)
            if pod["spec"].get("nodeName") and pod["status"].get("phase") in ("Pending", "Running"):
                self._move(pod, self.lives.get(uid), now)
        for uid in set(self.lives) - present:
            del self.lives[uid]

    def _spec(self, pod: Json) -> WorkloadSpec | None:
        return self._workloads.get((pod["metadata"]["namespace"], pod["metadata"].get("labels", {}).get("app", "")))

    def _move(self, pod: Json, life: PodLife | None, now: float) -> None:
        if life is None:
            life = self.lives[pod["metadata"]["uid"]] = PodLife(self._spec(pod), now)
            self._report(pod, life, now)
        if "deletionTimestamp" in pod["metadata"]:
            self._terminate(pod, life, now)
            return
        life.bytes = self._wanted_bytes(life, now)
        limit = memory_of(pod["spec"]["containers"][0], "limits")
        if limit and life.bytes > limit:
            self.oom_kill(pod, life, now)
        elif not life.ready and now - life.started_at >= (life.spec.startup if life.spec else 0.0):
            life.ready = True
            self._report(pod, life, now)

    def _wanted_bytes(self, life: PodLife, now: float) -> int:
        if life.spec is None:
            return 0
        full = interpolate(life.spec.usage_points, now) if life.spec.usage_points else life.spec.usage
        ramp = max(_RAMP_SECONDS, life.spec.startup)
        return round(full * min(1.0, (now - life.started_at) / ramp))

    def _report(self, pod: Json, life: PodLife, now: float) -> None:
        """Status of a running pod, as its kubelet sends it; ready time is never told before it was reached."""
        moment = self._store.clock()
        started = moment - timedelta(seconds=(now - life.started_at) / self._speed)
        status = running_status(pod, pod["spec"], started, moment if life.ready else None)
        for container in status["containerStatuses"]:
            container["restartCount"] = life.restarts
        current = self._store.get("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        self._store.update("Pod", {**current, "status": status}, subresource="status")

    def _terminate(self, pod: Json, life: PodLife, now: float) -> None:
        """Memory comes back in a straight line, after an optional last rise; then the pod is gone."""
        if life.terminating_at is None:
            life.terminating_at, life.bytes_at_termination = now, life.bytes
        shutdown = life.spec.shutdown if life.spec else 0.0
        grace = float(pod["metadata"].get("deletionGracePeriodSeconds", 0))
        span = max(_FIRST_WORDS_SECONDS, min(shutdown, grace))
        share = (now - life.terminating_at) / span
        rise = life.spec.shutdown_rise if life.spec else 0.0
        if share >= 1.0 and not pod["metadata"].get("finalizers"):
            self._store.delete("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
            self.lives.pop(pod["metadata"]["uid"], None)
        elif rise and share < 0.5:
            life.bytes = round(life.bytes_at_termination * (1 + rise * share * 2))
        else:
            life.bytes = round(life.bytes_at_termination * max(0.0, 1 - share))

    def oom_kill(self, pod: Json, life: PodLife, now: float) -> None:
        """The kernel kills the container at its limit; the kubelet starts it again."""
        life.restarts += 1
        life.started_at, life.ready, life.bytes = now, False, 0
        self._report(pod, life, now)
        current = self._store.get("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        moment = timestamp(self._store.clock())
        killed = {"reason": "OOMKilled", "exitCode": 137, "startedAt": moment, "finishedAt": moment}
        statuses = [{**c, "lastState": {"terminated": killed}} for c in current["status"]["containerStatuses"]]
        status = {**current["status"], "containerStatuses": statuses}
        self._store.update("Pod", {**current, "status": status}, subresource="status")

    def evict(self, pod: Json, available_bytes: int, threshold_bytes: int) -> None:
        """The kubelet's own eviction: the pod fails at once, grace or not."""
        moment = timestamp(self._store.clock())
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "TerminationByKubelet",
            "message": "The node was low on resource: memory.",
            "lastProbeTime": None,
            "lastTransitionTime": moment,
        }
        told = (
            f"The node was low on resource: memory. Threshold quantity: {threshold_bytes >> 20}Mi, "
            f"available: {available_bytes >> 10}Ki. "
        )
        conditions = [
            c for c in pod["status"].get("conditions") or [] if c["type"] not in ("Ready", "DisruptionTarget")
        ]
        status = {
            **pod["status"],
            "phase": "Failed",
            "reason": "Evicted",
            "message": told,
            "conditions": [*conditions, condition],
        }
        status.pop("containerStatuses", None)
        self._store.update("Pod", {**pod, "status": status}, subresource="status")
        self.lives.pop(pod["metadata"]["uid"], None)
