"""A replica as far as its audit goes: writes lines and ships them, until it is killed.

Arguments: directory, URL, number of the first line, a seed. Its waits are short, so that a test need not wait.
"""

import random
import sys
import time
from pathlib import Path

from remediator.adapters.audit import JsonLinesAudit
from remediator.adapters.shipper import Bulk, Files, Shipper, Target, shipping
from remediator.adapters.shipper.bulk import Fate

MAX_BYTES, MAX_FILES = 4000, 1000


def record(number: int) -> dict[str, object]:
    """A line of the audit, as far as the shipper cares."""
    kind = ("decision", "intent", "result")[number % 3]
    return {"kind": kind, "number": number, "node": f"n{number % 7}", "replica": "r"}


def files(directory: Path) -> Files:
    """Small files, none of which is ever dropped."""
    return Files(directory, "r", MAX_BYTES, MAX_FILES)


def main(directory: Path, url: str, first: int, seed: int) -> None:
    """Write and ship for ever."""
    shipping.POLL_SECONDS = 0.002
    for fate in (Fate.LATER, Fate.REFUSED):
        shipping._FIRST_PAUSE_SECONDS[fate] = shipping._MOST_PAUSE_SECONDS[fate] = 0.005
    audit = JsonLinesAudit(directory, "r", max_bytes=MAX_BYTES, max_files=MAX_FILES)
    Shipper(files(directory), Bulk(Target((url,))).send, "audit", print, batch_lines=7).start()
    chance = random.Random(seed)  # noqa: S311 - a seed that repeats a failure
    while True:
        audit.write(record(first))
        first += 1
        if chance.random() < 0.2:
            time.sleep(0.01)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
