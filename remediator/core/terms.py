"""The words of decisions as closed lists: levels, modes, tiers, phases, isolation, verdicts, strategies.

Import them from `remediator.core.model`; they live apart only to keep both files
readable. Nothing is decided here.
"""

from enum import IntEnum, StrEnum


class Level(IntEnum):
    """Memory pressure of a node, computed by the rules (`node:memory_level`) and nowhere else."""

    GREEN = 0
    YELLOW = 1
    ORANGE = 2
    RED = 3


class Mode(StrEnum):
    """How far the remediator may go on a node."""

    OFF = "off"
    OBSERVE = "observe"
    APPROVE = "approve"
    ENFORCE = "enforce"


class Tier(StrEnum):
    """Business tier of a workload, most important first."""

    CRITICAL = "critical"
    IMPORTANT = "important"
    STANDARD = "standard"
    LOW = "low"
    OFFLINE = "offline"


class Phase(StrEnum):
    """Where a node's episode stands (table in lifecycle.py)."""

    WATCHING = "WATCHING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    ACTING = "ACTING"
    SETTLING = "SETTLING"
    COOLING_DOWN = "COOLING_DOWN"
    STOOD_DOWN = "STOOD_DOWN"
    ESCALATED = "ESCALATED"


class Isolation(StrEnum):
    """Whether we keep new pods off the node (table in lifecycle.py)."""

    NONE = "NONE"
    CORDONED_BY_US = "CORDONED_BY_US"
    RELEASABLE = "RELEASABLE"


class Verdict(StrEnum):
    """What a pass came to."""

    ALLOW = "ALLOW"
    HOLD = "HOLD"
    SUPPRESS = "SUPPRESS"


class Strategy(StrEnum):
    """Who computed how much to release, and from whom."""

    PRESSURE = "pressure"
    BE_MEMORY_EVICT = "BEMemoryEvict"
    MEMORY_EVICT = "MemoryEvict"
    MEMORY_ALLOCATABLE_EVICT = "MemoryAllocatableEvict"
