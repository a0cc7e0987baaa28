"""The files of `rules/`, changed to what was chosen: profile, join, thresholds, scrape interval, time scale.

With the defaults they come out as they lie there, comments and all; otherwise their rules do, under a line that says
what was chosen. Windows and durations are read from the rules themselves and never repeated here.
"""

import dataclasses
from collections.abc import Iterator
from importlib import resources
from typing import Any

import yaml

from remediator.rulefiles.joining import joined, pod_node_map
from remediator.rulefiles.options import RuleOptions, options_from
from remediator.rulefiles.profiling import profiled, score_as_ratio, with_arc
from remediator.rulefiles.timing import interval, timed

Rule = dict[str, Any]


def shipped_files(*, pod_series: bool = False) -> dict[str, str]:
    """Name -> text of the rule files as they lie in `rules/`, with or without the opt-in pod series."""
    root = resources.files("remediator.rulefiles") / "shipped"
    found = [item for item in root.iterdir() if item.name.endswith(".yaml")]
    if pod_series:
        found += [item for item in (root / "optional").iterdir() if item.name.endswith(".yaml")]
    return {item.name: item.read_text(encoding="utf-8") for item in sorted(found, key=lambda item: item.name)}


def render(profile: str = "graded", node_join: str = "node", time_scale: float = 1.0, **more: Any) -> dict[str, str]:
    """File name -> YAML text of Prometheus rule files (>= 2.42); further arguments are fields of RuleOptions.

    Raises RuleOptionError naming the option and the fix.
    """
    options = options_from(profile=profile, node_join=node_join, time_scale=time_scale, **more)
    files = shipped_files(pod_series=options.pod_series)
    if options == RuleOptions(pod_series=options.pod_series):
        return files
    return {name: _header(options) + _dump(_document(yaml.safe_load(text), options)) for name, text in files.items()}


def _document(document: dict[str, Any], options: RuleOptions) -> dict[str, Any]:
    groups = []
    for group in document["groups"]:
        rules = [timed(rule, options) for rule in _rules(group, options)]
        groups.append({"name": group["name"], "interval": interval(group["interval"], options), "rules": rules})
    return {"groups": groups}


def _rules(group: dict[str, Any], options: RuleOptions) -> Iterator[Rule]:
    if group["name"] == "node-memory" and options.node_join == "kube_pod_info":
        yield pod_node_map()
    if group["name"] == "koordinator-strategies":
        yield from _strategy_defaults(options)
    for rule in group["rules"]:
        yield _placed(joined(with_arc(profiled(rule, options), options), options), options)
        if rule.get("record") == "node:memory_pressure:score" and options.profile == "score":
            yield score_as_ratio()


def _strategy_defaults(options: RuleOptions) -> Iterator[Rule]:
    for strategy, ratio in options.strategies.items():
        yield {
            "record": "memory_pressure:strategy_threshold:ratio",
            "labels": {"strategy": strategy},
            "expr": f"vector({ratio:g})",
        }


def _placed(rule: Rule, options: RuleOptions) -> Rule:
    """The alert's static namespace, and where its runbook is."""
    if "alert" not in rule:
        return rule
    _, _, heading = rule["annotations"]["runbook_url"].partition("#")
    return rule | {
        "labels": rule["labels"] | {"namespace": options.namespace},
        "annotations": rule["annotations"] | {"runbook_url": f"{options.runbook_url}#{heading}"},
    }


def _header(options: RuleOptions) -> str:
    changed = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if getattr(options, field.name) != getattr(RuleOptions(), field.name)
    }
    chosen = " ".join(f"{name}={value}" for name, value in changed.items())
    return f"# Rendered by `remediator rules`, do not edit: {chosen}\n"


class _Dumper(yaml.SafeDumper):
    """Expressions of several lines stay readable."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _dump(document: dict[str, Any]) -> str:
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
