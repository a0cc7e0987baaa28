"""`make bench-harm`: whom would it have hit? Our planner beside the orders that others evict by, over random storms.

Pure simulation: 1,000 seeded nodes under pressure (harm_clusters.py says how they are made), each solved by our planner
with its shipped caps and by four other orders. All free the same bytes: down to the safe level. Harm is downtime by
importance: start-up seconds of everybody who was evicted, times the weight of his true tier, and for each eviction
that a budget forbade five minutes more, by the same weight. Where our planner stops before the bytes are free, because
only pods are left that its policy protects, it asks a human: such storms are counted, and left out of the ratios, for
whoever does less does less harm.

`--seed N` shows one storm in detail. Writes build/bench/harm.json; status 1 when a bound is missed.
"""

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click
import harm_orders
import harm_ours
from harm_clusters import GIB, Storm, storm
from rich.console import Console
from rich.progress import track
from rich.table import Table
from verdict import conclude

from remediator.core.model import Tier

OURS = "remediator"
WEIGHTS = {Tier.CRITICAL: 1.0, Tier.IMPORTANT: 0.8, Tier.STANDARD: 0.5, Tier.LOW: 0.2, Tier.OFFLINE: 0.05}
FORBIDDEN_SECONDS = 300.0
MUST = {
    "protected_evicted": 0.0,
    "harm_median_to_best_other_order": 0.5,
    "harm_per_storm_to_each_order_median": 0.5,
    "surplus_pods_most": 1.0,
    "failed_where_another_could": 0.0,
}


@dataclass(frozen=True, slots=True)
class Result:
    """What one order did in one storm."""

    victims: tuple[str, ...]
    harm: float
    freed_bytes: int
    surplus_bytes: int
    protected: int
    violations: int
    surplus_pods: int
    """Evicted pods that could have stayed."""
    covered: bool


def judged(made: Storm, victims: Sequence[str]) -> Result:
    """Score a choice by the truth."""
    need, freed = harm_ours.need_bytes(made), sum(made.used[uid] for uid in victims)
    forbidden = _forbidden(made, victims)
    seconds = {uid: made.startups[uid] + FORBIDDEN_SECONDS * (uid in forbidden) for uid in victims}
    harm = sum(WEIGHTS[made.tiers[uid]] * seconds[uid] for uid in victims)
    guarded = len(harm_ours.protected(made).intersection(victims))
    return Result(
        tuple(victims), harm, freed, freed - need, guarded, len(forbidden), _surplus(made, victims), freed >= need
    )


def _forbidden(made: Storm, victims: Sequence[str]) -> set[str]:
    """Evictions that no budget allowed."""
    found: set[str] = set()
    for budget in made.budgets:
        hit = [uid for uid in victims if uid in budget.pod_uids]
        found |= set(hit[budget.disruptions_allowed :])
    return found


def _surplus(made: Storm, victims: Sequence[str]) -> int:
    """How many of them, the smallest first, were not needed."""
    left = sum(made.used[uid] for uid in victims) - harm_ours.need_bytes(made)
    count = 0
    for size in sorted(made.used[uid] for uid in victims):
        left -= size
        if left < 0:
            break
        count += 1
    return count


def solve(made: Storm) -> dict[str, Result]:
    """All orders on one storm."""
    need = harm_ours.need_bytes(made)
    others = {name: judged(made, harm_orders.victims(made, key, need)) for name, key in harm_orders.ORDERS.items()}
    return {OURS: judged(made, harm_ours.victims(made)), **others}


def failed(made: Storm, results: dict[str, Result]) -> bool:
    """Ours left bytes that another order frees with nobody but pods that our own filters let go."""
    if results[OURS].covered:
        return False
    eligible = harm_ours.eligible(made)
    return any(eligible.issuperset(r.victims) and r.covered for name, r in results.items() if name != OURS)


def ratio_to_best(results: dict[str, Result]) -> float:
    """Our harm to the least of the others', known in hindsight; everybody evicts somebody, so it is never 0."""
    return results[OURS].harm / min(r.harm for name, r in results.items() if name != OURS)


@click.command()
@click.option("--storms", default=1000, show_default=True, help="How many, by seeds 0, 1, 2 ...")
@click.option("--seed", type=int, help="Show this one storm.")
@click.option("--name", default="harm", show_default=True, help="Of the JSON file.")
def main(storms: int, seed: int | None, name: str) -> None:
    """Solve all, print, judge."""
    console = Console()
    if seed is not None:
        console.print(_one(storm(seed)))
        return
    found: dict[int, dict[str, Result]] = {}
    failures: list[int] = []
    for number in track(range(storms), "storms", console=Console(stderr=True)):
        made = storm(number)
        found[number] = solve(made)
        failures += [number] if failed(made, found[number]) else []
    covered = {number: results for number, results in found.items() if results[OURS].covered}
    console.print(_table(found))
    console.print(_losses(found, {number: ratio_to_best(results) for number, results in covered.items()}, failures))
    sys.exit(conclude(name, *_told(found, covered, failures), MUST))


Found = dict[int, dict[str, Result]]


def _told(found: Found, covered: Found, failures: list[int]) -> tuple[dict[str, object], dict[str, float]]:
    """(figures, ratios)."""
    medians = {name: statistics.median(r[name].harm for r in covered.values()) for name in (OURS, *harm_orders.ORDERS)}
    each = {n: statistics.median(r[OURS].harm / r[n].harm for r in covered.values()) for n in harm_orders.ORDERS}
    hindsight = [ratio_to_best(results) for results in covered.values()]
    figures = {
        "storms": len(found),
        "storms_left_to_a_human": len(found) - len(covered),
        "harm_median": medians,
        "harm_per_storm_to_each_order_median": each,
        "harm_to_the_best_of_the_others_in_hindsight_median": statistics.median(hindsight),
        "storms_in_which_another_did_less_harm": sum(ratio > 1 for ratio in hindsight),
        "failures": failures[:20],
    }
    ratios = {
        "protected_evicted": float(sum(results[OURS].protected for results in found.values())),
        "harm_median_to_best_other_order": medians[OURS] / min(medians[name] for name in harm_orders.ORDERS),
        "harm_per_storm_to_each_order_median": max(each.values()),
        "surplus_pods_most": float(max(results[OURS].surplus_pods for results in found.values())),
        "failed_where_another_could": float(len(failures)),
    }
    return figures, ratios


def _table(found: Found) -> Table:
    title = f"{len(found)} storms: harm (median, mean, p95), pods evicted, GiB too many, budgets broken, protected hit"
    table = Table(title=f"{title}, not freed", pad_edge=False, show_edge=False)
    table.add_column("order")
    for name in (
        "harm, median",
        "mean",
        "p95",
        "pods",
        "surplus GiB",
        "budgets broken",
        "protected hit",
        "not covered",
    ):
        table.add_column(name, justify="right")
    for name in found[0]:
        table.add_row(name, *_figures(found, name))
    return table


def _figures(found: Found, name: str) -> list[str]:
    results = [each[name] for each in found.values()]
    harm = sorted(result.harm for result in results)
    surplus = [
        max(0, r.freed_bytes - harm_ours.need_bytes(storm(n))) / GIB for n, r in zip(found, results, strict=True)
    ]
    return [
        f"{statistics.median(harm):.1f}",
        f"{statistics.mean(harm):.1f}",
        f"{harm[int(0.95 * (len(harm) - 1))]:.1f}",
        f"{statistics.mean(len(result.victims) for result in results):.1f}",
        f"{statistics.mean(surplus):.2f}",
        str(sum(result.violations for result in results)),
        str(sum(result.protected for result in results)),
        str(sum(not result.covered for result in results)),
    ]


def _losses(found: Found, ratios: dict[int, float], failures: list[int]) -> str:
    """Where we lose, in words."""
    lost = sorted((seed for seed, ratio in ratios.items() if ratio > 1), key=lambda seed: -ratios[seed])
    left = [seed for seed, results in found.items() if not results[OURS].covered]
    lines = [f"\nleft to a human: {len(left)} storms: seeds {left[:8]} ..."]
    middle = statistics.median(ratios.values())
    lines.append(f"to the best of the others, known in hindsight: {middle:.2f} in the median of storms")
    lines.append(f"another did less harm: {len(lost)} storms")
    for seed in lost[:5]:
        best = min((n for n in found[seed] if n != OURS), key=lambda name: found[seed][name].harm)
        lines.append(
            f"  seed {seed}: {best} {found[seed][best].harm:.1f}, ours {found[seed][OURS].harm:.1f} "
            f"({len(found[seed][best].victims)} pods, ours {len(found[seed][OURS].victims)})"
        )
    lines.append(f"failed where another could: {len(failures)} storms {failures[:8]}")
    lines.append("one in detail: python tests/bench/bench_harm.py --seed N")
    return "\n".join(lines)


def _one(made: Storm) -> Table:
    need = harm_ours.need_bytes(made) / GIB
    table = Table(title=f"seed {made.seed}: {need:.1f} GiB to free", pad_edge=False, show_edge=False)
    for name in ("order", "harm", "freed GiB", "victims"):
        table.add_column(name, overflow="fold")
    for name, result in solve(made).items():
        told = [f"{uid.split('-', 1)[1]} ({made.tiers[uid]}, {made.used[uid] / GIB:.1f})" for uid in result.victims]
        table.add_row(name, f"{result.harm:.1f}", f"{result.freed_bytes / GIB:.1f}", ", ".join(told))
    return table


if __name__ == "__main__":
    main()
