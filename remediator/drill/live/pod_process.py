"""What runs in a live pod: a process that holds memory, and may leak more. Started as `python -m …pod_process`."""

import os
import sys
import time
from pathlib import Path

_STEP_SECONDS = 0.1


def main(cgroup: str, hold_mib: str, leak_mib_per_second: str, most_mib: str) -> None:
    """Join the cgroup, take `hold_mib`, then leak until `most_mib`, then stay."""
    (Path(cgroup) / "cgroup.procs").write_text(str(os.getpid()))
    held = [os.urandom(1) * (int(hold_mib) * 1024**2)]
    taken, step = float(hold_mib), float(leak_mib_per_second) * _STEP_SECONDS
    while taken < float(most_mib):
        time.sleep(_STEP_SECONDS)
        taken += step
        held.append(os.urandom(1) * int(step * 1024**2))
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:5])
