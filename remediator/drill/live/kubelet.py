"""The kubelet of the live node: starts a real process for each pod, kills it when the pod is to go, sees OOM kills."""

import subprocess
import sys
from dataclasses import dataclass, field
from datetime import timedelta

from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.live.cast import LIVE_NODE, LiveWorkload
from remediator.drill.live.cgroup_node import CgroupNode

_AN_HOUR = timedelta(hours=1)
_SHUTDOWN_SECONDS = 1.0


@dataclass(slots=True)
class _Pod:
    process: "subprocess.Popen[bytes]"
    workload: str
    name: str
    terminating_at: float | None = None


@dataclass(slots=True)
class LiveKubelet:
    """Pods of the live node as processes; pods elsewhere are only said to run."""

    store: Store
    node: CgroupNode
    workloads: dict[str, LiveWorkload]
    oom_kills: list[Json] = field(default_factory=list)
    gone: list[Json] = field(default_factory=list)
    _pods: dict[str, _Pod] = field(default_factory=dict)

    def tick(self, now: float) -> None:
        """Bring processes and pods in line; `now` is seconds since the start."""
        for pod in self.store.list("Pod"):
            uid = pod["metadata"]["uid"]
            if pod["spec"].get("nodeName") != LIVE_NODE:
                if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
                    self._say_running(pod)
            elif uid not in self._pods and pod["status"].get("phase") in ("Pending", "Running"):
                self._start(pod)
            elif uid in self._pods:
                self._look_after(pod, self._pods[uid], now)

    def _start(self, pod: Json) -> None:
        uid, workload = pod["metadata"]["uid"], self.workloads[pod["metadata"]["labels"]["app"]]
        cgroup = self.node.add_pod(uid)
        amounts = (workload.hold_mib, workload.leak_mib_per_second, workload.most_mib)
        command = [sys.executable, "-m", "remediator.drill.live.pod_process", str(cgroup), *map(str, amounts)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._pods[uid] = _Pod(process, workload.name, pod["metadata"]["name"])
        self._say_running(pod)

    def _say_running(self, pod: Json) -> None:
        """Running and ready for an hour: start-up is not what this drill is about."""
        since = timestamp(self.store.clock() - _AN_HOUR)
        container = {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": since}}}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
        status = {**pod["status"], "phase": "Running", "conditions": [ready], "containerStatuses": [container]}
        self.store.update("Pod", {**pod, "status": status}, subresource="status")

    def _look_after(self, pod: Json, mine: _Pod, now: float) -> None:
        if mine.process.poll() is not None and mine.terminating_at is None:
            self.oom_kills.append({"at": round(now, 1), "workload": mine.workload, "pod": mine.name})
            self._end(pod, mine, now)
        elif "deletionTimestamp" in pod["metadata"]:
            if mine.terminating_at is None:
                mine.terminating_at = now
                mine.process.terminate()
            elif mine.process.poll() is not None or now - mine.terminating_at > _SHUTDOWN_SECONDS:
                self._end(pod, mine, now)

    def _end(self, pod: Json, mine: _Pod, now: float) -> None:
        mine.process.kill()
        mine.process.wait()
        metadata = pod["metadata"]
        self.node.remove_pod(metadata["uid"])
        del self._pods[metadata["uid"]]
        self.gone.append({"at": round(now, 1), "workload": mine.workload, "pod": mine.name})
        self.store.delete("Pod", metadata["namespace"], metadata["name"])

    def close(self) -> None:
        """End all processes."""
        for mine in self._pods.values():
            mine.process.kill()
            mine.process.wait()
