"""Policy file -> core policy, or every reason why not.

Reading and checking are `reading.py`; the shape is `schema.py`. A gap is filled with the shipped default,
a typo never is.
"""

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from remediator.config.plain import plain
from remediator.config.positions import Positions
from remediator.config.reading import parse_yaml, read_text, validated
from remediator.config.schema import PolicyFile
from remediator.core.policy import Policy, Safeguards
from remediator.core.strategy_policy import CAMEL, KoordinatorPolicy, Thresholds


def load_policy(path: str | FilePath) -> Policy:
    """Policy of a file; ConfigError with all problems when it cannot be read or is not valid."""
    return parse_policy(read_text(path), source=str(path))


def parse_policy(text: str, *, source: str = "policy") -> Policy:
    """Policy of a YAML text; an empty text is the shipped policy."""
    document, where = parse_yaml(text, source)
    return validated(PolicyFile, document, where, source).to_policy()


def policy_from_mapping(document: Mapping[str, Any], *, source: str = "policy") -> Policy:
    """Policy of a parsed mapping (a scenario's `policy:` fragment); problems carry no line."""
    return validated(PolicyFile, document, Positions(), source).to_policy()


def policy_document(policy: Policy) -> dict[str, Any]:
    """The policy as its file says it, every key written: read again it decides the same, whatever we ship by then."""
    document: dict[str, Any] = _as_read(plain(policy))
    rows = document.pop("mode_rules")
    document["modes"] = [{"nodeSelector": row["node_selector"], "mode": row["mode"]} for row in rows]
    document["alerts"] = document.pop("alert_names")
    document["business"] = [{k: v for k, v in row.items() if v is not None} for row in document["business"]]
    document["ladder"] = {name: step for name, step in document["ladder"].items() if name != "green"}
    # A tier that is left out would get what we ship for it.
    shipped: dict[str, list[str]] = {tier: [] for tier in plain(Safeguards().volumes_allowed)}
    document["safeguards"]["volumes_allowed"] = shipped | document["safeguards"]["volumes_allowed"]
    document["koordinator"] = _koordinator(policy.koordinator)
    return document


def _as_read(value: Any) -> Any:
    """Durations as the file's reader gives them, however our own code wrote the default."""
    if not isinstance(value, dict):
        return value
    return {key: float(item) if str(key).endswith("_seconds") else _as_read(item) for key, item in value.items()}


def _koordinator(koordinator: KoordinatorPolicy) -> dict[str, Any]:
    return {
        "strategies": plain(koordinator.strategies),
        "clusterStrategy": _thresholds(koordinator.cluster),
        "nodeStrategies": [
            {"nodeSelector": dict(node.node_selector), **_thresholds(node.thresholds)}
            for node in koordinator.nodes
            if node.node_selector  # an empty one matches no node
        ],
        "max_pods_per_round": koordinator.max_pods_per_round,
    }


def _thresholds(thresholds: Thresholds) -> dict[str, Any]:
    said = {alias: getattr(thresholds, name) for name, alias in CAMEL.items()}
    return {alias: value for alias, value in said.items() if value is not None}
