"""Which business tier a pod belongs to, who said so, and which row of the business table applies to it.

Nothing undeclared is evicted unless the policy says so in words; a declaration that cannot be read protects.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from remediator.core.model import PodFacts, Tier, WorkloadFacts
from remediator.core.policy import BusinessRule, Policy
from remediator.core.reason import Reason
from remediator.core.state import Reasoned

TIER_ANNOTATION = "remediator.io/business-tier"
RUN_TO_COMPLETION = ("Job", "CronJob")


@dataclass(frozen=True, slots=True)
class Standing:
    """A pod's tier (None: undeclared), where it comes from, and the row of the table that matched."""

    tier: Tier | None
    source: str
    rule: BusinessRule | None = None
    problem: Reasoned | None = None


def standing_of(pod: PodFacts, workload: WorkloadFacts | None, policy: Policy) -> Standing:
    """Annotation (pod, then workload), then the first matching row, then Jobs, then `undeclared`."""
    rule = next((row for row in policy.business if rule_matches(row, pod)), None)
    declared = pod.annotations.get(TIER_ANNOTATION)
    if declared is None and workload is not None:
        declared = workload.annotations.get(TIER_ANNOTATION)
    if declared is not None:
        return _from_annotation(declared, rule)
    if rule is not None:
        return Standing(rule.tier, "business table", rule)
    if pod.workload is not None and pod.workload.kind in RUN_TO_COMPLETION:
        return Standing(Tier.OFFLINE, f"{pod.workload.kind}s count as offline")
    if policy.undeclared == "protect":
        detail = f"no {TIER_ANNOTATION} annotation and no row of the business table"
        return Standing(None, "undeclared", None, Reasoned(Reason.UNDECLARED, detail))
    return Standing(Tier(policy.undeclared), "undeclared")


def _from_annotation(value: str, rule: BusinessRule | None) -> Standing:
    try:
        return Standing(Tier(value.strip().lower()), "annotation", rule)
    except ValueError:
        tiers = ", ".join(tier.value for tier in Tier)
        detail = f"{TIER_ANNOTATION} is {value!r}, not one of {tiers}: protected until it can be read"
        return Standing(None, "unreadable annotation", rule, Reasoned(Reason.UNDECLARED, detail))


def _glob(value: str, pattern: str) -> bool:
    return pattern in ("*", value) or fnmatchcase(value, pattern)


def rule_matches(rule: BusinessRule, pod: PodFacts) -> bool:
    """All given conditions hold (globs, case-sensitive)."""
    kind, name = (pod.workload.kind, pod.workload.name) if pod.workload else ("Pod", pod.name)
    return (
        _glob(pod.namespace, rule.namespace)
        and _glob(kind, rule.kind)
        and _glob(name, rule.workload)
        and _glob(pod.priority_class, rule.priority_class)
        and all(pod.labels.get(label) == value for label, value in rule.labels.items())
    )
