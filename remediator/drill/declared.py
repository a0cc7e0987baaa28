"""The tier of a workload as its scenario declares it.

Read off the scenario and not off the product, so that a drill can say who was protected even when the product
does not know it. Pure.
"""

from fnmatch import fnmatchcase

from remediator.core.policy import BusinessRule
from remediator.drill.scenario import Scenario, WorkloadSpec

UNDECLARED = "undeclared"
PROTECTED = ("critical", "important")
_ANNOTATION = "remediator.io/business-tier"


def declared_tier(scenario: Scenario, workload: str) -> str:
    """Tier of `namespace/Kind/name`: its annotation, the policy's first matching row, Jobs, else undeclared."""
    namespace, kind, name = workload.split("/")
    spec = next((w for w in scenario.workloads if (w.namespace, w.kind, w.name) == (namespace, kind, name)), None)
    if spec is not None and _ANNOTATION in spec.annotations:
        return spec.annotations[_ANNOTATION]
    policy = scenario.policy.to_policy()
    for rule in policy.business:
        if _matches(rule, namespace, kind, name, spec):
            return str(rule.tier)
    if kind in ("Job", "CronJob"):
        return "offline"
    return UNDECLARED if policy.undeclared == "protect" else str(policy.undeclared)


def _matches(rule: BusinessRule, namespace: str, kind: str, name: str, spec: WorkloadSpec | None) -> bool:
    labels = {"app": name, **(spec.labels if spec is not None else {})}
    priority_class = spec.priority_class if spec is not None else ""
    pairs = (
        (namespace, rule.namespace),
        (kind, rule.kind),
        (name, rule.workload),
        (priority_class, rule.priority_class),
    )
    globs = all(fnmatchcase(value, pattern) for value, pattern in pairs)
    return globs and all(labels.get(label) == value for label, value in rule.labels.items())
