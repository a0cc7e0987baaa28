"""What may be chosen when the rules are rendered, checked as a whole. No rendering here.

Every error names the option and the fix: `remediator rules` prints it and ends with status 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

LEVELS = ("yellow", "orange", "red")
"""Rising."""
EDGES = ("enter", "exit")
NODE_JOINS = ("node", "instance", "kube_pod_info")
"""How a node is found from node-exporter's series: their `node` label, their `instance`, or their pod."""
RUNBOOK_URL = "https://remediator.io/docs/runbook.md"
STRATEGIES = ("BEMemoryEvict", "MemoryEvict", "MemoryAllocatableEvict")


@dataclass(frozen=True, slots=True)
class Profile:
    """Thresholds of a used ratio (or, for `score`, of score/100), how long they must hold, and how they compare."""

    enter: Mapping[str, float]
    exit_margin: float
    held_seconds: Mapping[str, float]
    compare: str
    measure: str = "node:memory_used:ratio"


PROFILES: Mapping[str, Profile] = {
    "graded": Profile(
        enter={"yellow": 0.75, "orange": 0.85, "red": 0.92},
        exit_margin=0.03,
        held_seconds={"yellow": 60, "orange": 120, "red": 30},
        compare=">=",
    ),
    # Available < 15 %, < 10 %, < 5 %, in terms of used.
    "sentinel": Profile(
        enter={"yellow": 0.85, "orange": 0.90, "red": 0.95},
        exit_margin=0.02,
        held_seconds={"yellow": 120, "orange": 30, "red": 15},
        compare=">",
    ),
    "score": Profile(
        enter={"yellow": 0.75, "orange": 0.85, "red": 0.92},
        exit_margin=0.03,
        held_seconds={"yellow": 0, "orange": 120, "red": 30},
        compare=">=",
        measure="node:memory_pressure:ratio",
    ),
}


class RuleOptionError(ValueError):
    """An option that is refused. `option` is its name, `fix` what to do about it."""

    def __init__(self, option: str, fix: str) -> None:
        super().__init__(f"{option}: {fix}")
        self.option = option
        self.fix = fix


@dataclass(frozen=True, slots=True)
class RuleOptions:
    """Everything `render` can be told. The defaults are what lies in `rules/`.

    `thresholds`: `{"red": 0.93}` or `{"red": {"enter": 0.93, "exit": 0.90}}`, ratios 0..1; an entry given alone
    takes its exit along. `rates`: signal -> events per second (`major_faults`, `direct_reclaim`, `swap_io`).
    `time_scale`: how much faster than the clock the observed cluster lives (1 in production).
    `zfs_arc_available_ratio`: share of a ZFS ARC that counts as available (0: none, ARC is used memory).
    `strategies`: static default thresholds (ratios) of Koordinator strategies, for nodes without a gauge.
    `pod_series`: also the opt-in group of pod series.
    """

    profile: str = "graded"
    node_join: str = "node"
    time_scale: float = 1.0
    scrape_interval_seconds: float = 5
    thresholds: Mapping[str, float | Mapping[str, float]] | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    namespace: str = "remediator"
    runbook_url: str = RUNBOOK_URL
    zfs_arc_available_ratio: float = 0.0
    strategies: Mapping[str, float] = field(default_factory=dict)
    pod_series: bool = False

    def limits(self) -> dict[str, dict[str, float]]:
        """Level -> edge -> ratio, as they will be rendered."""
        shipped = PROFILES[self.profile]
        chosen: dict[str, dict[str, float]] = {}
        for level in LEVELS:
            given = (self.thresholds or {}).get(level, {})
            own = given if isinstance(given, Mapping) else {"enter": given}
            enter = own.get("enter", shipped.enter[level])
            chosen[level] = {"enter": enter, "exit": own.get("exit", round(enter - shipped.exit_margin, 6))}
        return chosen


def options_from(**given: object) -> RuleOptions:
    """Checked options. Raises RuleOptionError naming the option and the fix; unknown names raise TypeError."""
    options = RuleOptions(**given)  # type: ignore[arg-type]
    _check_choices(options)
    _check_numbers(options)
    _check_thresholds(options)
    return options


def _check_choices(options: RuleOptions) -> None:
    for name, value, known in (
        ("profile", options.profile, tuple(PROFILES)),
        ("node_join", options.node_join, NODE_JOINS),
    ):
        if value not in known:
            raise RuleOptionError(name, f"{value!r} is unknown; choose one of {', '.join(known)}")
    for name in options.strategies:
        if name not in STRATEGIES:
            raise RuleOptionError("strategies", f"{name!r} is unknown; name one of {', '.join(STRATEGIES)}")


def _check_numbers(options: RuleOptions) -> None:
    if not 0 < options.time_scale <= 1000:
        raise RuleOptionError("time_scale", f"is {options.time_scale:g}; give a number above 0, at most 1000")
    if not 1 <= options.scrape_interval_seconds <= 60:
        raise RuleOptionError(
            "scrape_interval_seconds",
            f"is {options.scrape_interval_seconds:g}; give 1 to 60: a level cannot be told from slower scrapes",
        )
    if not 0 <= options.zfs_arc_available_ratio <= 1:
        raise RuleOptionError("zfs_arc_available_ratio", "give a share between 0 and 1")
    for signal, rate in options.rates.items():
        if signal not in ("major_faults", "direct_reclaim", "swap_io"):
            raise RuleOptionError("rates", f"{signal!r} is unknown; name major_faults, direct_reclaim or swap_io")
        if not rate > 0:
            raise RuleOptionError(f"rates.{signal}", f"is {rate:g}; give events per second, above 0")
    for strategy, ratio in options.strategies.items():
        if not ratio > 0:
            raise RuleOptionError(f"strategies.{strategy}", f"is {ratio:g}; give a ratio above 0, such as 0.70")


def _check_thresholds(options: RuleOptions) -> None:
    _check_names(options.thresholds or {})
    limits = options.limits()
    for level, edges in limits.items():
        for edge, ratio in edges.items():
            if not 0 < ratio < 1:
                raise RuleOptionError(f"thresholds.{level}.{edge}", f"is {ratio:g}; give a ratio between 0 and 1")
        if edges["exit"] >= edges["enter"]:
            raise RuleOptionError(
                f"thresholds.{level}.exit",
                f"is {edges['exit']:g}, not below the entry {edges['enter']:g}; lower the exit, or the level flaps",
            )
    for edge in EDGES:
        for lower, higher in pairwise(LEVELS):
            _check_rising(edge, lower, higher, limits)


def _check_names(thresholds: Mapping[str, float | Mapping[str, float]]) -> None:
    for level, given in thresholds.items():
        if level not in LEVELS:
            raise RuleOptionError("thresholds", f"{level!r} is unknown; name {', '.join(LEVELS)}")
        if isinstance(given, Mapping) and (unknown := sorted(set(given) - set(EDGES))):
            raise RuleOptionError(f"thresholds.{level}", f"{unknown[0]!r} is unknown; name enter or exit")


def _check_rising(edge: str, lower: str, higher: str, limits: Mapping[str, Mapping[str, float]]) -> None:
    if limits[lower][edge] >= limits[higher][edge]:
        raise RuleOptionError(
            f"thresholds.{higher}.{edge}",
            f"is {limits[higher][edge]:g}, not above {lower}'s {limits[lower][edge]:g}; "
            f"raise {higher} or lower {lower}: thresholds must rise yellow < orange < red",
        )
