"""The report in one sentence of plain figures. It judges nothing; recommendations do, each with its figure."""

from collections.abc import Iterator

from remediator.core.figures import size, span
from remediator.core.report.events import KUBELET
from remediator.core.report.recommending import Parts
from remediator.core.report.values import Coverage


def summary(p: Parts) -> str:
    """What a person reads first."""
    if not p.coverage.lines:
        return "Nothing was written in this period: either no remediator ran, or its audit is somewhere else."
    return f"{_watched(p)}: {_pressure(p)}{_acts(p)}{_undeclared(p)}; {_deaths(p)}."


def _watched(p: Parts) -> str:
    covered, asked = span(p.coverage.covered_seconds), span(p.coverage.asked_seconds)
    nodes = f" over {counted(p.coverage.nodes, 'node')}" if p.coverage.nodes else ""
    return f"Watched {covered} of {asked}{nodes}"


def _pressure(p: Parts) -> str:
    if not p.nodes:
        return "no node rose above GREEN"
    red = sum(node.seconds["RED"] for node in p.nodes)
    at_red = f"RED {counted(p.times('RED'), 'time')}, {span(red)} in all" if p.times("RED") else "never RED"
    rose = f"{counted(len(p.nodes), 'node')} rose above GREEN {counted(p.spells, 'time')}"
    return f"{rose} ({at_red})"


def _acts(p: Parts) -> str:
    said = ""
    for observed, words in ((False, "evicted"), (True, "would have been evicted")):
        rows = [row for row in p.acts if row.kind == "evict" and row.observed is observed and row.done]
        if rows:
            pods = counted(sum(row.pods for row in rows), "pod")
            workloads = counted(len({row.workload for row in rows}), "workload")
            verb = words if observed else ("was " if pods.startswith("1 ") else "were ") + words
            said += f"; {pods} of {workloads} ({size(sum(row.expected_bytes for row in rows))}) {verb}"
    return said or ("; nobody would have been evicted" if p.nodes else "")


def _undeclared(p: Parts) -> str:
    if not p.undeclared:
        return ""
    most = max(row.most_bytes for row in p.undeclared)
    verb = "stands" if len(p.undeclared) == 1 else "stand"
    return f"; {counted(len(p.undeclared), 'undeclared workload')} (up to {size(most)}) {verb} in the way"


def _deaths(p: Parts) -> str:
    kills = sum(cause.deaths for cause in p.causes if cause.cause != KUBELET)
    evictions = sum(cause.deaths for cause in p.causes if cause.cause == KUBELET)
    return f"{counted(kills, 'OOM kill')} and {counted(evictions, 'kubelet eviction')} came all the same"


def caveats(c: Coverage) -> tuple[str, ...]:
    """What the figures cannot say; empty when the whole period was watched."""
    return tuple(_caveats(c))


def _caveats(c: Coverage) -> Iterator[str]:
    unwatched = c.asked_seconds - c.covered_seconds
    if c.gaps_total:
        longest = span(max(gap.until - gap.since for gap in c.gaps))
        yield f"For {span(unwatched)} nobody watched ({counted(c.gaps_total, 'gap')}, the longest {longest})."
    if c.lines and not c.modes:
        yield "There is no roll call in these lines (an older release): quiet times cannot be told from unwatched ones."
    if c.blind_seconds:
        yield f"For {span(c.blind_seconds)} Prometheus did not tell the levels: what happened then is not here."
    if len(c.config_hashes) > 1:
        yield f"{len(c.config_hashes)} policies were in force one after another: figures mix what each would have done."
    if len(c.modes) > 1:
        yield f"The mode was changed ({', '.join(c.modes)}): what was done and what would have been stand side by side."
    if c.unreadable_lines:
        yield f"{counted(c.unreadable_lines, 'line')} could not be read and {_are(c.unreadable_lines)} left out."
    if c.late_lines:
        yield f"{counted(c.late_lines, 'line')} came out of order by over a minute: do the replicas' clocks differ?"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def counted(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
