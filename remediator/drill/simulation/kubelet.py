"""The kubelets: pods start, become ready, use memory, are OOM-killed at their limit, terminate, are evicted.

Runs in scenario seconds. What it remembers of a pod is `PodLife`; everything others may see is in the store.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store
from remediator.drill.scenario import WorkloadSpec
from remediator.drill.simulation import pod_status
from remediator.drill.simulation.memory import PodMemory, interpolate
from remediator.drill.simulation.quantities import memory_of

_LONG_AGO = -3600.0
_RAMP_SECONDS = 5.0
_FIRST_WORDS_SECONDS = 1.0
_BACK_OFF_SECONDS, _LONGEST_BACK_OFF_SECONDS = 10.0, 300.0
_INACTIVE_FILE_SHARE = 0.02
_FINISHED = ("Succeeded", "Failed")


@dataclass(slots=True)
class PodLife:
    """What one kubelet knows of one pod."""

    spec: WorkloadSpec | None
    limit_bytes: int
    started_at: float
    """In the future while the kubelet backs off."""
    ready: bool = False
    waiting: bool = False
    terminating_at: float | None = None
    bytes_at_termination: int = 0
    restarts: int = 0
    last_end: Json | None = None
    bytes: int = 0
    major_faults: float = 0.0


class Kubelets:
    """All nodes' kubelets over one store."""

    def __init__(self, store: Store, workloads: dict[tuple[str, str], WorkloadSpec], speed: float) -> None:
        self._store, self._workloads, self._speed = store, workloads, speed
        self.lives: dict[str, PodLife] = {}

    def adopt_running(self) -> None:
        """Take over the pods that have been running for an hour."""
        for pod in self._store.list("Pod"):
            if pod["spec"].get("nodeName"):
                self.lives[pod["metadata"]["uid"]] = self._life(pod, _LONG_AGO, ready=True)
        self.tick(0.0)

    def _life(self, pod: Json, started_at: float, *, ready: bool = False) -> PodLife:
        key = (pod["metadata"]["namespace"], (pod["metadata"].get("labels") or {}).get("app", ""))
        limit = memory_of(pod["spec"]["containers"][0], "limits")
        return PodLife(self._workloads.get(key), limit, started_at, ready)

    def usage(self, pod: Json) -> int:
        """Bytes the pod holds now, in memory or in swap."""
        life = self.lives.get(pod["metadata"]["uid"])
        return life.bytes if life is not None else 0

    def wanted_cache(self, pod: Json) -> tuple[int, int]:
        """Bytes of files that the pod would like to keep cached: those it reads again and again, and the others."""
        life = self.lives.get(pod["metadata"]["uid"])
        if life is None or life.spec is None or not life.bytes:
            return 0, 0
        room = life.limit_bytes - life.bytes if life.limit_bytes else life.spec.page_cache + life.bytes
        active = min(life.spec.page_cache, room)
        return active, min(int(life.bytes * _INACTIVE_FILE_SHARE), room - active)

    def memory(self, pod: Json, *, swapped_ratio: float, cached_ratio: float) -> PodMemory:
        """Where the pod's memory is, given how much of it the node has swapped and cached."""
        life = self.lives.get(pod["metadata"]["uid"])
        if life is None:
            return PodMemory(0, 0, 0, 0, 0)
        shmem = min(life.spec.shmem if life.spec else 0, life.bytes)
        swapped = int((life.bytes - shmem) * swapped_ratio)
        active, inactive = self.wanted_cache(pod)
        return PodMemory(
            anon=life.bytes - shmem - swapped,
            shmem=shmem,
            swap=swapped,
            active_file=int(active * cached_ratio),
            inactive_file=int(inactive * cached_ratio),
        )

    def on_node(self, node: str) -> list[Json]:
        """Pods of a node that hold memory."""
        return [pod for pod in self._store.pods_on(node) if pod["metadata"]["uid"] in self.lives]

    def tick(self, now: float) -> None:
        """Move every pod on to a moment."""
        present = set()
        for pod in self._store.list("Pod"):
            uid = pod["metadata"]["uid"]
            present.add(uid)
            if not pod["spec"].get("nodeName"):
                continue
            if pod["status"].get("phase") in _FINISHED:
                self._let_go(pod)
            else:
                self._move(pod, self.lives.get(uid), now)
        for uid in set(self.lives) - present:
            del self.lives[uid]

    def _let_go(self, pod: Json) -> None:
        """A finished pod that somebody deleted goes when nobody's finalizer holds it."""
        metadata = pod["metadata"]
        self.lives.pop(metadata["uid"], None)
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self._store.delete("Pod", metadata["namespace"], metadata["name"])

    def _move(self, pod: Json, life: PodLife | None, now: float) -> None:
        if life is None:
            life = self.lives[pod["metadata"]["uid"]] = self._life(pod, now)
            self._report(pod, life, now)
        if "deletionTimestamp" in pod["metadata"]:
            self._terminate(pod, life, now)
            return
        life.bytes = _wanted_bytes(life, now)
        if life.limit_bytes and life.bytes > life.limit_bytes:
            self.oom_kill(pod, now)
        elif life.waiting and now >= life.started_at:
            life.waiting = False
            self._report(pod, life, now)
        elif not life.ready and now - life.started_at >= (life.spec.startup if life.spec else 0.0):
            life.ready = True
            self._report(pod, life, now)

    def _report(self, pod: Json, life: PodLife, now: float) -> None:
        """Status of a running pod, as its kubelet sends it; ready time is never told before it was reached."""
        moment = self._store.clock()
        started = moment - timedelta(seconds=(now - life.started_at) / self._speed)
        status = pod_status.running_status(pod, pod["spec"], started, moment if life.ready else None)
        # When the pod itself started does not change with its containers.
        status["startTime"] = pod["status"].get("startTime", status["startTime"])
        if life.restarts:
            status = pod_status.with_restarts(status, life.restarts, life.last_end)
        if life.waiting:
            status = pod_status.waiting_status(status, life.started_at - now)
        self._write(pod, status)

    def _write(self, pod: Json, status: Json) -> None:
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
        if share >= 1.0:
            self._stopped(pod, killed=shutdown > grace)
        elif rise and share < 0.5:
            life.bytes = round(life.bytes_at_termination * (1 + rise * share * 2))
        else:
            rest = (1 - share) * 2 * (1 + rise) if rise else 1 - share
            life.bytes = round(life.bytes_at_termination * rest)

    def _stopped(self, pod: Json, *, killed: bool) -> None:
        """No process is left; the object waits for those whose finalizers are on it."""
        self.lives.pop(pod["metadata"]["uid"], None)
        if pod["metadata"].get("finalizers"):
            code = pod_status.KILLED if killed else pod_status.TERMINATED
            self._write(pod, pod_status.failed_status(pod["status"], "Error", code, self._store.clock()))
        else:
            self._store.delete("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])

    def oom_kill(self, pod: Json, now: float) -> None:
        """The kernel kills the pod's process; the kubelet starts it again, later and later, unless it must not."""
        life, moment = self.lives[pod["metadata"]["uid"]], self._store.clock()
        life.last_end = _oom_killed(pod, moment)
        life.bytes, life.ready = 0, False
        if pod["spec"].get("restartPolicy") == "Never":
            del self.lives[pod["metadata"]["uid"]]
            self._write(pod, pod_status.failed_status(pod["status"], "OOMKilled", pod_status.KILLED, moment))
            return
        life.restarts += 1
        life.started_at = now + _back_off_seconds(life.restarts)
        life.waiting = life.started_at > now
        self._report(pod, life, now)

    def evict(self, pod: Json, usage_bytes: int, available_bytes: int, threshold_bytes: int) -> None:
        """The kubelet's own eviction: the pod fails at once, grace or not."""
        moment = self._store.clock()
        status = pod_status.evicted_status(pod, usage_bytes, available_bytes, threshold_bytes, moment)
        self._write(pod, status)
        self.lives.pop(pod["metadata"]["uid"], None)


def _wanted_bytes(life: PodLife, now: float) -> int:
    if life.spec is None:
        return 0
    full = interpolate(life.spec.usage_points, now) if life.spec.usage_points else life.spec.usage
    ramp = max(_RAMP_SECONDS, life.spec.startup)
    return round(full * min(1.0, max(0.0, (now - life.started_at) / ramp)))


def _back_off_seconds(restarts: int) -> float:
    """The first restart is at once, then 10 s, doubling up to five minutes."""
    if restarts < 2:
        return 0.0
    return float(min(_LONGEST_BACK_OFF_SECONDS, _BACK_OFF_SECONDS * 2 ** (restarts - 2)))


def _oom_killed(pod: Json, moment: datetime) -> Json:
    started = pod_status.started_at(pod["status"])
    return pod_status.terminated("OOMKilled", pod_status.KILLED, started, moment)
