"""`make bench-exporter`: what a scrape of 1003 real cgroups costs, beside other exporters and beside C.

All programs run side by side on one tree. CPU time counts, of whole process trees, per cycle of 15 s with one scrape
(both of our pages; housekeeping and history included): the mean of several cycles, since housekeeping does not keep
step with them. Rounds beside C are made in a process of their own that serves nobody, as the C programs are: a hot
round is both pages as they are scraped, the mean of four in a row, for in four rounds every file is read at least once,
and the best of several such means, for the machine does other things too; a whole round reads every file. Writes
build/bench/exporter.json (`figures`, `ratios`, `must`, `not_compared`). Status 1: a bound is missed; 2: this machine
cannot run it (root and a writable memory hierarchy are needed).
"""

import contextlib
import subprocess
import sys
import time

from exporter_peers import (
    REPO,
    Program,
    c_program,
    cadvisor,
    cgroups_exporter,
    ours,
)
from exporter_tree import HELD, CannotRun, Tree, tree
from exporter_values import unequal
from verdict import BUILD, conclude

ROUNDS, HOT_GROUPS, GROUP, STARTS = 12, 8, 4, 3
CYCLES, CYCLE_SECONDS, WARM_UP_SECONDS, SETTLE_SECONDS = 6, 15.0, 20.0, 11.0
MUST = {
    "cpu_vs_cadvisor": 1 / 40,
    "pss_vs_cadvisor": 1 / 4,
    "wall_vs_cadvisor": 1 / 10,
    "values_unequal_to_cadvisor": 0,
    "cpu_vs_cgroups_exporter": 1 / 100,
    "hot_round_vs_open_read_close": 0.7,
    "whole_round_vs_open_read_close": 0.7,
    "hot_round_vs_pread": 1.3,
}
_ROUND = """
import sys, time
from pathlib import Path
from remediator.exporter.collecting import Collector
from remediator.exporter.hierarchy import Hierarchy
from remediator.exporter.main import _hold_little_memory
_hold_little_memory()
collector = Collector(Hierarchy(int(sys.argv[1]), sys.argv[2]), Path("/proc"), "bench")
pages = [collector.whole_page] if sys.argv[4] == "whole" else [collector.page, collector.containers_page]
for _ in range(int(sys.argv[3])):
    began = time.process_time()
    for page in pages:
        page()
    print((time.process_time() - began) * 1000)
"""
Figures = dict[str, object]
Measured = dict[str, float]


def log(text: str) -> None:
    """Progress, for people."""
    sys.stderr.write(f"bench-exporter: {text}\n")


def main() -> int:
    """Measure, write, print."""
    BUILD.mkdir(parents=True, exist_ok=True)
    figures: Figures = {}
    missing: dict[str, str] = {}
    try:
        with tree() as found:
            figures |= {"cgroup_version": found.version, "cgroups": len(found.directories), "with_processes": HELD}
            log(f"{figures['cgroups']} cgroups, {len(found.files())} files")
            ratios = _side_by_side(found, figures, missing)
            ratios |= _beside_c(found, figures, missing)
    except CannotRun as error:
        log(f"cannot run: {error}")
        return 2
    for name, why in missing.items():
        log(f"not compared with {name}: {why}")
    return conclude("exporter", figures, ratios, MUST, not_compared=missing)


# --- beside other exporters ---------------------------------------------------------------------------------


def _side_by_side(found: Tree, figures: Figures, missing: dict[str, str]) -> Measured:
    ratios: Measured = {}
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(ours(found))]
        for peer in (cadvisor, cgroups_exporter):
            try:
                programs.append(stack.enter_context(peer(found)))
            except (CannotRun, subprocess.CalledProcessError, OSError) as error:
                missing[peer.__name__] = str(error)
        log(f"{', '.join(program.name for program in programs)}: {CYCLES} cycles of {CYCLE_SECONDS:.0f} s")
        time.sleep(WARM_UP_SECONDS)
        measured = _cycles(programs)
        figures |= measured
        by_name = {program.name: program for program in programs}
        if "cadvisor" in by_name:
            differ, compared = _values(found, by_name)
            figures["values_compared_with_cadvisor"] = compared
            ratios["values_unequal_to_cadvisor"] = differ
    own = measured["ours"]
    for peer_name, columns in {"cadvisor": ("cpu", "pss", "wall"), "cgroups_exporter": ("cpu", "pss")}.items():
        if peer_name in measured:
            units = {"cpu": "cpu_ms", "pss": "pss_mib", "wall": "wall_ms"}
            theirs = measured[peer_name]
            ratios |= {f"{column}_vs_{peer_name}": own[units[column]] / theirs[units[column]] for column in columns}
    return ratios


def _values(found: Tree, by_name: dict[str, Program]) -> tuple[int, int]:
    """(values that differ, compared), as soon as the tree stands still: the kernel gives some cache back late."""
    for _ in range(10):
        differ, compared = unequal(found, by_name["ours"], by_name["cadvisor"])
        if not differ:
            break
        log(f"{differ} of {compared} values differ from cAdvisor's, which is up to 10 s older; once more")
        time.sleep(SETTLE_SECONDS)
    return differ, compared


def _cycles(programs: list[Program]) -> dict[str, Measured]:
    """Mean CPU per cycle, best wall of a scrape, memory at the end, of each."""
    for program in programs:
        program.scrape()
    seen: dict[str, list[tuple[float, float]]] = {program.name: [] for program in programs}
    cpu = {program.name: program.cpu_ms() for program in programs}
    ends = time.monotonic()
    for _ in range(CYCLES):
        walls = {program.name: program.scrape() for program in programs}
        ends += CYCLE_SECONDS
        time.sleep(max(0.0, ends - time.monotonic()))
        for program in programs:
            now = program.cpu_ms()
            seen[program.name].append((now - cpu[program.name], walls[program.name]))
            cpu[program.name] = now
    return {
        program.name: {
            "cpu_ms": sum(cost for cost, _ in seen[program.name]) / CYCLES,
            "cpu_ms_least": min(cost for cost, _ in seen[program.name]),
            "cpu_ms_most": max(cost for cost, _ in seen[program.name]),
            "wall_ms": min(wall for _, wall in seen[program.name]),
            "pss_mib": program.pss_mib(),
            "startup_ms": program.startup_ms,
        }
        for program in programs
    }


# --- beside C -----------------------------------------------------------------------------------------------


def _beside_c(found: Tree, figures: Figures, missing: dict[str, str]) -> Measured:
    """C before and after our rounds, so that a busy moment of the machine does not make either look good."""
    paths, ratios = found.files(), {}
    names = {"open_read_close": "open_read_close", "pread_kept": "pread"}
    best: Measured = {}

    def in_c() -> None:
        for program, name in names.items():
            cost = c_program(program, paths, ROUNDS)
            best[name] = min(cost, best.get(name, cost))

    try:
        in_c()
    except (CannotRun, subprocess.CalledProcessError) as error:
        missing["c"] = str(error)
    hot, whole, startup = _mean_of_rounds(found, "hot"), _least_round(found, "whole"), _startup_ms(found)
    if best:
        in_c()
    figures |= {"files": len(paths), "hot_round_cpu_ms": hot, "whole_round_cpu_ms": whole, "startup_ms": startup}
    for name, cost in best.items():
        figures[f"{name}_cpu_ms"] = cost
        ratios |= {f"hot_round_vs_{name}": hot / cost, f"whole_round_vs_{name}": whole / cost}
    return ratios


def _startup_ms(found: Tree) -> float:
    """Milliseconds until the first page, the best of a few starts."""
    startups = []
    for _ in range(STARTS):
        with ours(found) as own:
            startups.append(own.startup_ms)
    return min(startups)


def _rounds(found: Tree, kind: str) -> list[float]:
    """CPU milliseconds of each round in a process of its own: like the C programs, it reads and serves nobody."""
    command = [sys.executable, "-c", _ROUND, str(found.version), str(found.top), str(HOT_GROUPS * GROUP), kind]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO).stdout
    return [float(line) for line in told.split()]


def _least_round(found: Tree, kind: str) -> float:
    """The best round; for rounds that all do the same."""
    return min(_rounds(found, kind))


def _mean_of_rounds(found: Tree, kind: str) -> float:
    """The best mean of as many rounds as it takes until each file had its turn."""
    rounds = _rounds(found, kind)
    return min(sum(rounds[first : first + GROUP]) / GROUP for first in range(0, len(rounds), GROUP))


if __name__ == "__main__":
    sys.exit(main())
