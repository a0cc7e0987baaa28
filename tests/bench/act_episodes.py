"""Whether a replica grows: thousands of episodes through the real reconciler, audit and metrics, in one process.

Prints one JSON line: resident MiB after the first tenth and at the end. The outside world is the small one of the
reconciler's tests, so that an episode costs milliseconds.
"""

import gc
import json
import sys
from dataclasses import replace
from pathlib import Path

REPO = Path(__file__).parents[2]
sys.path.insert(0, str(REPO))

from remediator.core.model import Level, Phase  # noqa: E402
from remediator.reconciler import Reconciler  # noqa: E402
from tests.reconciler.world import POLICY, World, alert  # noqa: E402

PODS, NODE = tuple(World().pods.values()), World().node


def resident_mib() -> float:
    """Of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def one_episode(world: World, replica: Reconciler, number: int) -> None:
    """From RED to the cooldown: pods of new UIDs, hours after the episode before."""
    world.now += 4 * 3600
    fresh = [(replace(pod, uid=f"{pod.workload}-{number}", created_at=0.0), size) for pod, size in PODS]
    world.pods = {pod.uid: (pod, size) for pod, size in fresh}
    world.level, world.node, world.audit, world.notices, world.events = Level.RED, NODE, [], [], []
    world.evictions, world.acts = [], []
    for _ in range(60):
        replica.reconcile(alert(world.level))
        world.tick(30)
        if world.evictions and world.records["n1"].state.phase is Phase.COOLING_DOWN:
            return
    raise RuntimeError(f"episode {number} did not end: {world.records['n1'].state}")


def main(episodes: int) -> None:
    """Run them, measure twice."""
    first, world = 0.0, World()
    replica = world.replica("a", POLICY)
    for number in range(episodes):
        one_episode(world, replica, number)
        if number == episodes // 10:
            first = resident_mib()
    sys.stdout.write(json.dumps({"first_tenth_mib": first, "end_mib": resident_mib(), "episodes": episodes}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
