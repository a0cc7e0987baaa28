"""Writes what is a list of what the code holds: docs/metrics.md, docs/policy.md with the policy's JSON schema,
docs/flags.md, and the table of rights in docs/security.md.

Run by `make docs`; a test says when a page is stale.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from prometheus_client.metrics import MetricWrapperBase

from remediator import metrics
from remediator.adapters import actuator, cluster, events, leases, records
from remediator.config import json_schema
from scripts.flags_page import flags_page
from scripts.policy_page import policy_page

ROOT = Path(__file__).resolve().parents[1]
METRICS, SECURITY = ROOT / "docs" / "metrics.md", ROOT / "docs" / "security.md"
POLICY, FLAGS = ROOT / "docs" / "policy.md", ROOT / "docs" / "flags.md"
SCHEMA = ROOT / "remediator" / "config" / "schema.json"
GOLDEN = ROOT / "tests" / "exporter" / "golden"
_BEGIN, _END = "<!-- rights: made by `make docs` -->\n", "<!-- end of rights -->"

_FEATURES: tuple[tuple[str, str, Iterable[dict[str, Any]]], ...] = (
    ("look at nodes, pods and what protects them", "always", cluster.RBAC_RULES),
    ("keep the durable state of each node", "always", records.RBAC_RULES),
    ("tell by Events", "always", events.RBAC_RULES),
    ("one replica at a time per node", "always, in its own namespace only", leases.RBAC_RULES),
    ("evict, cordon, taint, take out of Services", "a mode of the policy is approve or enforce", actuator.RBAC_RULES),
    ("scale down", "and a row of `business` has `scale_on_pressure`", actuator.SCALE_RBAC_RULES),
)


_FEATURES += (("force deletion", "and `safeguards.force_delete` is true", actuator.FORCE_DELETE_RBAC_RULES),)
_KOORDINATOR = cluster.config_map_rule("koordinator-system/slo-controller-config")
_FEATURES += (
    ("read Koordinator's thresholds", "`koordinator.config_map`; that one ConfigMap, by name", (_KOORDINATOR,)),
)


def metrics_page() -> str:
    """docs/metrics.md."""
    return "\n".join(
        [
            "# Metrics",
            "",
            "Made by `make docs` from `remediator/metrics.py` and the exporter's golden files. Recorded series are in"
            " [rules/](../rules), dashboards in [dashboards/](../dashboards).",
            "",
            "## The remediator: `/metrics` of `remediator serve`",
            "",
            *_table(("metric", "kind", "labels", "what"), _own()),
            "",
            "Labels come from closed lists (reasons, outcomes, sources; node names), never from input. Each replica"
            " counts what it did itself: sum over replicas, and take the maximum of gauges that carry `node`.",
            "",
            "## The exporter: `remediator exporter`",
            "",
            "`/metrics` (node and pods, every 5 s), `/metrics/containers` (every 30 s). All carry `node`.",
            "",
            *_table(("metric", "kind", "labels", "what"), _exported()),
            "",
        ]
    )


def security_page(page: str) -> str:
    """The page with its table of rights anew."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = "\n".join(_table(("for", "when", "group", "resources", "verbs"), _rights()))
    return f"{before}{_BEGIN}\n{table}\n\n{_END}{after}"


def _own() -> Iterator[tuple[str, ...]]:
    declared = [each for each in vars(metrics).values() if isinstance(each, MetricWrapperBase)]
    for metric in sorted(declared, key=lambda each: str(each.describe()[0].name)):
        (family,) = metric.describe()
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"`{name}`", family.type, ", ".join(metric._labelnames), family.documentation


def _exported() -> Iterator[tuple[str, ...]]:
    kinds: dict[str, tuple[str, str]] = {}
    labels: dict[str, set[str]] = {}
    for file in sorted(GOLDEN.iterdir()):
        text = file.read_text(encoding="utf-8")
        helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
        kinds |= {name: (kind, helps[name]) for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)}
        for name, found in re.findall(r"^([a-z_]+)\{(.*)\} \S+$", text, re.MULTILINE):
            labels.setdefault(name, set()).update(re.findall(r'(\w+)="', found))
    for name, (kind, what) in sorted(kinds.items()):
        yield f"`{name}`", kind, ", ".join(sorted(labels.get(name, set()) - {"node"})), what


def _rights() -> Iterator[tuple[str, ...]]:
    for purpose, when, rules in _FEATURES:
        for rule in rules:
            group = ", ".join(each or "core" for each in rule["apiGroups"])
            yield purpose, when, group, ", ".join(rule["resources"]), ", ".join(rule["verbs"])


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    METRICS.write_text(metrics_page(), encoding="utf-8")
    POLICY.write_text(policy_page(), encoding="utf-8")
    SCHEMA.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
    FLAGS.write_text(flags_page(), encoding="utf-8")
    SECURITY.write_text(security_page(SECURITY.read_text(encoding="utf-8")), encoding="utf-8")
