"""Rule files for a stack, from rules/*.yaml: select the profile, join, re-pace, set thresholds, merge groups."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from remediator.rulefiles.joins import MAP_RULE, NODE_JOINS, joined
from remediator.rulefiles.pace import milliseconds, scaled_duration, scaled_expression, scaled_rule

PROFILES = ("graded", "sentinel", "score")
RUNBOOK_URL = "https://github.com/remediator/remediator/blob/main/docs/runbook.md"
_LEVELS = ("yellow", "orange", "red")
_SHIPPED_INTERVAL_MS = 5000


class RulesError(Exception):
    """A setting that makes no rules; names the option and the fix."""


def rules_directory() -> Path:
    """Where the shipped rule files are: in the package, else beside it in a checkout."""
    packaged = Path(str(resources.files("remediator"))) / "rules"
    return packaged if packaged.is_dir() else Path(str(resources.files("remediator"))).parent / "rules"


def render(
    profile: str = "graded",
    node_join: str = "node",
    time_scale: float = 1.0,
    scrape_interval: str = "5s",
    thresholds: Mapping[str, float] | None = None,
    runbook_url: str = RUNBOOK_URL,
) -> dict[str, str]:
    """File name -> YAML text.

    `thresholds` maps `level/edge` (`red/enter`) to a ratio and replaces the profile's static ones. `time_scale`
    divides every duration (drills); `scrape_interval` stretches all windows when scrapes are slower than 5 s.
    Raises RulesError.
    """
    _check(profile, node_join, time_scale, thresholds or {})
    stretch = milliseconds(scrape_interval) / _SHIPPED_INTERVAL_MS
    if stretch <= 0:
        raise RulesError(f"--scrape-interval {scrape_interval}: give a duration, for example 5s or 15s")
    groups: dict[str, dict[str, Any]] = {}
    for path in sorted(rules_directory().glob("*.yaml")):
        if path.name.startswith("30-levels-") and path.name != f"30-levels-{profile}.recording.yaml":
            continue
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            kept = groups.setdefault(group["name"], {**group, "rules": []})
            kept["rules"] += [_rule(rule, node_join, thresholds or {}, runbook_url) for rule in group["rules"]]
    if node_join == "kube_pod_info":
        groups["node-memory"]["rules"].insert(0, MAP_RULE)
    paced = [_paced(group, time_scale, max(1.0, stretch)) for group in groups.values()]
    return {"remediator.rules.yaml": _dump({"groups": paced})}


def _check(profile: str, node_join: str, time_scale: float, thresholds: Mapping[str, float]) -> None:
    if profile not in PROFILES:
        raise RulesError(f"--profile {profile}: choose one of {', '.join(PROFILES)}")
    if node_join not in NODE_JOINS:
        raise RulesError(f"--node-join {node_join}: choose one of {', '.join(NODE_JOINS)}")
    if time_scale <= 0:
        raise RulesError(f"--time-scale {time_scale}: give a number above 0; 1 is the production pace")
    known = {f"{level}/{edge}" for level in _LEVELS for edge in ("enter", "exit")}
    if unknown := sorted(set(thresholds) - known):
        raise RulesError(f"--threshold {unknown[0]}: know only {', '.join(sorted(known))}")
    given = {**_static(profile), **thresholds}
    for edge in ("enter", "exit"):
        ladder = [given[f"{level}/{edge}"] for level in _LEVELS]
        if ladder != sorted(ladder) or len(set(ladder)) < len(ladder):
            told = ", ".join(f"{level} {value:g}" for level, value in zip(_LEVELS, ladder, strict=True))
            raise RulesError(f"--threshold: {edge} thresholds must rise from yellow to red, not {told}")
    for level in _LEVELS:
        enter, leave = given[f"{level}/enter"], given[f"{level}/exit"]
        if not 0 < leave < enter <= 1:
            raise RulesError(
                f"--threshold {level}: exit ({leave:g}) must be below enter ({enter:g}), both between 0 and 1"
            )


def _static(profile: str) -> dict[str, float]:
    """The profile's own thresholds, as its file has them."""
    text = (rules_directory() / f"30-levels-{profile}.recording.yaml").read_text(encoding="utf-8")
    return {
        f"{rule['labels']['level']}/{rule['labels']['edge']}": float(rule["expr"].removeprefix("vector(").rstrip(")"))
        for group in yaml.safe_load(text)["groups"]
        for rule in group["rules"]
        if rule.get("record") == "memory_pressure:threshold:ratio"
    }


def _rule(rule: dict[str, Any], node_join: str, thresholds: Mapping[str, float], runbook_url: str) -> dict[str, Any]:
    changed = {**rule, "expr": joined(rule["expr"], node_join)}
    if rule.get("record") == "memory_pressure:threshold:ratio":
        key = f"{rule['labels']['level']}/{rule['labels']['edge']}"
        if key in thresholds:
            changed["expr"] = f"vector({thresholds[key]:g})"
    if "annotations" in rule:
        heading = rule["annotations"]["runbook_url"].lower()
        changed["annotations"] = {**rule["annotations"], "runbook_url": f"{runbook_url}#{heading}"}
    return changed


def _paced(group: dict[str, Any], scale: float, stretch: float) -> dict[str, Any]:
    """The group faster by `scale`, with sample-bound windows stretched for slow scrapes."""
    rules = [scaled_rule(_stretched(rule, stretch), scale) for rule in group["rules"]]
    interval = scaled_duration(group["interval"], scale / stretch)
    return {**group, "interval": interval, "rules": rules}


def _stretched(rule: dict[str, Any], stretch: float) -> dict[str, Any]:
    """Bridges and short rates must hold four scrapes; durations of levels stay, with fewer points in them."""
    if stretch == 1:
        return rule
    expression = rule["expr"].replace("[20s]", scaled_expression("[20s]", 1 / stretch))
    for window, points in (("120s", 24), ("60s", 12), ("30s", 6), ("15s", 3), ("5s", 1)):
        fewer = max(1, int(points / stretch))
        expression = expression.replace(f"[{window}]) >= {points}", f"[{window}]) >= {fewer}")
    expression = expression.replace("[1m]", scaled_expression("[1m]", 1 / stretch) if stretch > 3 else "[1m]")
    return {**rule, "expr": expression}


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks, so that people can read them; no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _dump(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120)
    return text
