"""The simulated cluster as a whole: one tick moves memory, kubelets, scheduler and controllers on to a moment."""

from remediator.drill.apiserver.faults import Fault, Faults
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.scenario import FaultSpec, Scenario, WorkloadSpec, expanded
from remediator.drill.simulation import controllers, scheduler
from remediator.drill.simulation.build import populate
from remediator.drill.simulation.chronicle import Chronicle
from remediator.drill.simulation.kubelet import Kubelets
from remediator.drill.simulation.memory import NodeMemory, interpolate
from remediator.drill.simulation.order import kubelet_order
from remediator.drill.simulation.quantities import pod_requests

_STARVED_RATIO = 0.003
_KUBELET_PAUSE_SECONDS = 10.0
_MEMORY_PRESSURE_HOLD_SECONDS = 300.0


class World:
    """Nodes with memory, and everything that runs on them. `now` is scenario seconds."""

    def __init__(self, scenario: Scenario, store: Store, faults: Faults, speed: float) -> None:
        self.scenario, self.store, self.faults, self.speed = scenario, store, faults, speed
        self.now = 0.0
        populate(store, scenario)
        controllers.run_all(store)
        workloads: dict[tuple[str, str], WorkloadSpec] = {(w.namespace, w.name): w for w in scenario.workloads}
        self.kubelets = Kubelets(store, workloads, speed)
        self.memory = {
            name: NodeMemory(spec.memory, spec.system, spec.hugepages, spec.page_cache)
            for spec in scenario.nodes
            for name in expanded(spec)
        }
        self._last_kubelet_eviction: dict[str, float] = {}
        self._pressed_until: dict[str, float] = {}
        self.kubelets.adopt_running()
        self._fill_memory(0.0, 0.0)
        self.chronicle = Chronicle(store, lambda: self.now, self.kubelets.usage)

    def tick(self, now: float, wall_seconds: float) -> None:
        """Everything moves on to `now`; `wall_seconds` of real time have passed."""
        passed, self.now = max(0.0, now - self.now), now
        if any(fault.api for fault in self.scenario.faults):
            self.faults.replace(self._api_faults())
        self.kubelets.tick(now)
        scheduler.schedule(self.store)
        controllers.run_all(self.store)
        self._fill_memory(passed, wall_seconds)
        for node in self.memory:
            self._kubelet_eviction(node)
            self._out_of_memory(node)

    def _fill_memory(self, passed: float, wall_seconds: float) -> None:
        for node, memory in self.memory.items():
            memory.pods_bytes = sum(self.kubelets.usage(pod) for pod in self.kubelets.on_node(node))
            processes = [p for p in self.scenario.host_processes if p.node == node]
            memory.host_bytes = sum(interpolate(process.points, self.now) for process in processes)
            memory.advance(passed, wall_seconds)

    def _api_faults(self) -> list[Fault]:
        return [Fault.parse(fault.api) for fault in self.scenario.faults if fault.api and self._in_force(fault)]

    def _in_force(self, fault: FaultSpec) -> bool:
        return fault.at <= self.now and (fault.until is None or self.now < fault.until)

    def metrics_faults(self, endpoint: str, node: str) -> list[FaultSpec]:
        """Faults of an endpoint that are in force."""
        found = [f for f in self.scenario.faults if f.metrics == endpoint and f.node in ("", node)]
        return [fault for fault in found if self._in_force(fault)]

    # --- the kubelet's own eviction, and the kernel's last resort ----------------------------------------

    def order(self, node: str) -> list[Json]:
        """Whom the kubelet would evict, first first."""
        return kubelet_order(self.kubelets.on_node(node), self.kubelets.usage)

    def _kubelet_eviction(self, node: str) -> None:
        memory, threshold = self.memory[node], self.scenario.kubelet_threshold
        if memory.available_bytes < threshold:
            self._pressed_until[node] = self.now + _MEMORY_PRESSURE_HOLD_SECONDS
            last = self._last_kubelet_eviction.get(node, float("-inf"))
            victims = self.order(node)
            if victims and self.now - last >= _KUBELET_PAUSE_SECONDS:
                self._last_kubelet_eviction[node] = self.now
                self.kubelets.evict(victims[0], memory.available_bytes, threshold)
        self._say_pressure(node, pressed=self.now < self._pressed_until.get(node, float("-inf")))

    def _say_pressure(self, name: str, *, pressed: bool) -> None:
        node, wanted = self.store.get("Node", None, name), "True" if pressed else "False"
        conditions = node["status"]["conditions"]
        if any(c["type"] == "MemoryPressure" and c["status"] != wanted for c in conditions):
            reason = "KubeletHasInsufficientMemory" if pressed else "KubeletHasSufficientMemory"
            moment = timestamp(self.store.clock())
            changed = {"status": wanted, "reason": reason, "lastTransitionTime": moment}
            told = [{**c, **changed} if c["type"] == "MemoryPressure" else c for c in conditions]
            self.store.update("Node", {**node, "status": {**node["status"], "conditions": told}}, subresource="status")

    def _out_of_memory(self, node: str) -> None:
        """Nothing left at all: the kernel kills the biggest process that is over its request."""
        memory = self.memory[node]
        if memory.available_bytes >= memory.usable_bytes * _STARVED_RATIO:
            return
        victims = sorted(self.kubelets.on_node(node), key=self.kubelets.usage, reverse=True)
        if victims:
            memory.counters.oom_kills += 1
            self.kubelets.oom_kill(victims[0], self.kubelets.lives[victims[0]["metadata"]["uid"]], self.now)

    # --- for the runner ---------------------------------------------------------------------------------

    def state(self) -> Json:
        """What is going on now."""
        return {
            "seconds": round(self.now, 2),
            "nodes": {name: self._node_state(name) for name in self.memory},
        }

    def _node_state(self, name: str) -> Json:
        memory, node = self.memory[name], self.store.get("Node", None, name)
        return {
            "used_ratio": round(memory.used_ratio, 4),
            "used_bytes": memory.used_bytes,
            "total_bytes": memory.usable_bytes,
            "unschedulable": bool(node["spec"].get("unschedulable")),
            "pods": len(self.kubelets.on_node(name)),
            "oom_kills": memory.counters.oom_kills,
        }

    def ranking(self, node: str) -> list[Json]:
        """The kubelet's order with the figures it is made of."""
        return [
            {
                "namespace": pod["metadata"]["namespace"],
                "name": pod["metadata"]["name"],
                "workload": self.chronicle.workload_of(pod),
                "priority": pod["spec"].get("priority") or 0,
                "usage_bytes": self.kubelets.usage(pod),
                "request_bytes": pod_requests(pod),
            }
            for pod in self.order(node)
        ]
