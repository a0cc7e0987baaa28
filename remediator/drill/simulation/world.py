"""The simulated cluster as a whole: one tick moves memory, kubelets, scheduler and controllers on to a moment."""

from remediator.drill.apiserver.faults import Faults
from remediator.drill.apiserver.resources import Json
from remediator.drill.apiserver.store import Store, timestamp
from remediator.drill.scenario import HostProcessSpec, Scenario, WorkloadSpec, expanded
from remediator.drill.simulation import scheduler
from remediator.drill.simulation.build import populate
from remediator.drill.simulation.chronicle import Chronicle
from remediator.drill.simulation.controllers import Controllers
from remediator.drill.simulation.kubelet import Kubelets
from remediator.drill.simulation.ledgers import Ledgers
from remediator.drill.simulation.memory import NodeMemory, PodMemory, interpolate
from remediator.drill.simulation.order import kubelet_order, oom_badness, oom_score_adjustment
from remediator.drill.simulation.quantities import pod_requests
from remediator.drill.simulation.scenario_faults import ScenarioFaults

_KUBELET_PAUSE_SECONDS = 10.0
_MEMORY_PRESSURE_HOLD_SECONDS = 300.0


class World:
    """Nodes with memory, and everything that runs on them. `now` is scenario seconds."""

    def __init__(self, scenario: Scenario, store: Store, faults: Faults, speed: float) -> None:
        self.scenario, self.store, self.speed = scenario, store, speed
        self.faults = ScenarioFaults(scenario.faults, faults)
        self.now = 0.0
        populate(store, scenario)
        self.controllers = Controllers(store)
        self.controllers.tick()
        workloads: dict[tuple[str, str], WorkloadSpec] = {(w.namespace, w.name): w for w in scenario.workloads}
        self.kubelets = Kubelets(store, workloads, speed)
        self.memory = {
            name: NodeMemory(
                total_bytes=spec.memory,
                system_bytes=spec.system,
                kernel_bytes=spec.kernel,
                hugepages_bytes=spec.hugepages,
                page_cache_bytes=spec.page_cache,
                swap_bytes=spec.swap,
            )
            for spec in scenario.nodes
            for name in expanded(spec)
        }
        self.ledgers = Ledgers(store, scenario)
        self._last_kubelet_eviction: dict[str, float] = {}
        self._pressed_until: dict[str, float] = {}
        self._killed: list[HostProcessSpec] = []
        self.kubelets.adopt_running()
        self.chronicle = Chronicle(store, lambda: self.now, self.kubelets.usage)
        self._use_memory(0.0, 0.0)

    def tick(self, now: float, wall_seconds: float) -> None:
        """Everything moves on to `now`; `wall_seconds` of real time have passed."""
        passed, self.now = max(0.0, now - self.now), now
        self.faults.tick(now)
        self.ledgers.tick(now)
        self.kubelets.tick(now)
        scheduler.schedule(self.store)
        self.controllers.tick()
        self._use_memory(passed, wall_seconds)
        for node in self.memory:
            self._kubelet_eviction(node)

    # --- memory -----------------------------------------------------------------------------------------

    def _use_memory(self, passed: float, wall_seconds: float) -> None:
        for node, memory in self.memory.items():
            self._fit(node)
            pressure = memory.advance(passed, wall_seconds)
            for pod in self.kubelets.on_node(node):
                life = self.kubelets.lives[pod["metadata"]["uid"]]
                life.major_faults += pressure.major_faults * passed * life.bytes / max(1, memory.demand_bytes)

    def _fit(self, node: str) -> None:
        """Give everybody what he asks for, and kill until it fits."""
        memory = self.memory[node]
        self._measure(node)
        while memory.excess_bytes and self._kill_one(node):
            self._measure(node)
        # Nobody is left to kill: whoever asks for more is not given it.
        memory.host_system_bytes -= min(memory.excess_bytes, memory.host_system_bytes)
        memory.host_user_bytes -= min(memory.excess_bytes, memory.host_user_bytes)

    def _measure(self, node: str) -> None:
        memory, pods = self.memory[node], self.kubelets.on_node(node)
        memory.pods_bytes = sum(self.kubelets.usage(pod) for pod in pods)
        memory.pods_cache_bytes = sum(sum(self.kubelets.wanted_cache(pod)) for pod in pods)
        held = {"system": 0, "user": 0}
        for process in self._host_processes(node):
            held[process.slice] += interpolate(process.points, self.now)
        memory.host_system_bytes, memory.host_user_bytes = held["system"], held["user"]

    def _host_processes(self, node: str) -> list[HostProcessSpec]:
        return [p for p in self.scenario.host_processes if p.node == node and p not in self._killed]

    def pod_memory(self, node: str, pod: Json) -> PodMemory:
        """Where the memory of a pod of the node is."""
        memory = self.memory[node]
        return self.kubelets.memory(pod, swapped_ratio=memory.swapped_ratio, cached_ratio=memory.cached_ratio)

    def _kill_one(self, node: str) -> bool:
        """The kernel's last resort: the process with the most points dies. False: nobody holds anything."""
        memory, capacity = self.memory[node], self.memory[node].total_bytes
        pods = [pod for pod in self.kubelets.on_node(node) if self.kubelets.usage(pod)]
        processes = [p for p in self._host_processes(node) if interpolate(p.points, self.now)]
        points = [oom_badness(self.kubelets.usage(p), oom_score_adjustment(p, capacity), capacity) for p in pods]
        points += [oom_badness(interpolate(p.points, self.now), 0, capacity) for p in processes]
        if not points:
            return False
        memory.counters.oom_kills += 1
        worst = points.index(max(points))
        if worst < len(pods):
            self.kubelets.oom_kill(pods[worst], self.now)
        else:
            process = processes[worst - len(pods)]
            self._killed.append(process)
            self.chronicle.tell("host_process_killed", node=node, name=process.name)
        return True

    # --- the kubelet's own eviction ---------------------------------------------------------------------

    def order(self, node: str) -> list[Json]:
        """Whom the kubelet would evict, first first."""
        return kubelet_order(self.kubelets.on_node(node), lambda pod: self.pod_memory(node, pod).working_set)

    def _kubelet_eviction(self, node: str) -> None:
        memory, threshold = self.memory[node], self.scenario.kubelet_threshold
        if memory.available_bytes < threshold:
            self._pressed_until[node] = self.now + _MEMORY_PRESSURE_HOLD_SECONDS
            last = self._last_kubelet_eviction.get(node, float("-inf"))
            victims = self.order(node)
            if victims and self.now - last >= _KUBELET_PAUSE_SECONDS:
                self._last_kubelet_eviction[node] = self.now
                used = self.pod_memory(node, victims[0]).working_set
                self.kubelets.evict(victims[0], used, memory.available_bytes, threshold)
                self._fit(node)
        self._say_pressure(node, pressed=self.now < self._pressed_until.get(node, float("-inf")))

    def _say_pressure(self, name: str, *, pressed: bool) -> None:
        node, wanted = self.store.find("Node", None, name), "True" if pressed else "False"
        if node is None:
            return
        conditions = node["status"]["conditions"]
        if any(c["type"] == "MemoryPressure" and c["status"] != wanted for c in conditions):
            reason = "KubeletHasInsufficientMemory" if pressed else "KubeletHasSufficientMemory"
            moment = timestamp(self.store.clock())
            changed = {"status": wanted, "reason": reason, "lastTransitionTime": moment}
            told = [{**c, **changed} if c["type"] == "MemoryPressure" else c for c in conditions]
            self.store.update("Node", {**node, "status": {**node["status"], "conditions": told}}, subresource="status")

    # --- for the runner ---------------------------------------------------------------------------------

    def state(self) -> Json:
        """What is going on now."""
        return {
            "seconds": round(self.now, 2),
            "nodes": {name: self._node_state(name) for name in self.memory},
        }

    def _node_state(self, name: str) -> Json:
        memory, node = self.memory[name], self.store.find("Node", None, name) or {"spec": {}}
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
                "usage_bytes": self.pod_memory(node, pod).working_set,
                "request_bytes": pod_requests(pod),
            }
            for pod in self.order(node)
        ]
