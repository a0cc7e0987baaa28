"""The planner beside other orders, over a few of the bench's storms."""

import subprocess
import sys
from pathlib import Path


def test_thirty_storms_hold_every_bound() -> None:
    """Nobody protected, half of the harm at most, nobody in vain, nothing left that another could free."""
    bench = Path(__file__).with_name("bench_harm.py")
    command = [sys.executable, bench, "--storms", "30", "--name", "harm-short"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok  ") == 5
