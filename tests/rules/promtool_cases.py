"""Case files for promtool, rewritten for a rendered variant: their rules, their time, the labels of node-exporter."""

import functools
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from remediator.rulefiles import render
from remediator.rulefiles.durations import DURATION, format_ms, parse_ms
from remediator.rulefiles.promql import map_durations, tokens

Case = dict[str, Any]

_FOREIGN = re.compile(r"^(node_[a-z]+_\w+|kubelet_\w+)\{(.*)\}$")
_NODE = re.compile(r'(?:^|,)node="([^"]*)"')


def load(cases: Path) -> Case:
    """The file's content; series values stay text, though `0x30` (31 times 0) is a number to YAML."""
    text = cases.read_text(encoding="utf-8")
    document: Case = yaml.safe_load(re.sub(r"values: ([^'}\n]+)", r"values: '\1'", text))
    return document


def run(promtool: Path, cases: Path) -> None:
    """Run one file of cases; the assertion shows promtool's own words.

    Since Prometheus 3 a range leaves out its oldest instant. There the cases run with every range 1 ms wider, in rules
    and questions, and rounding is forgiven: so they show that nothing else is different (docs/compatibility.md).
    """
    with tempfile.TemporaryDirectory() as directory:
        file = _wider(cases, Path(directory)) if _leaves_out_the_oldest(promtool) else cases
        done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@functools.cache
def _leaves_out_the_oldest(promtool: Path) -> bool:
    said = subprocess.run([promtool, "--version"], capture_output=True, text=True, check=True)
    return int(re.findall(r"version (\d+)\.", said.stdout + said.stderr)[0]) >= 3


def _wider(cases: Path, directory: Path) -> Path:
    document = load(cases) | {"fuzzy_compare": True}
    for name in document["rule_files"]:
        rules = yaml.safe_load((cases.parent / name).read_text(encoding="utf-8"))
        for rule in (rule for group in rules["groups"] for rule in group["rules"]):
            rule["expr"] = _wider_ranges(rule["expr"])
        (directory / Path(name).name).write_text(yaml.safe_dump(rules, sort_keys=False), encoding="utf-8")
    document["rule_files"] = [Path(name).name for name in document["rule_files"]]
    for item in (item for test in document["tests"] for item in test.get("promql_expr_test", ())):
        item["expr"] = _wider_ranges(item["expr"])
    file = directory / cases.name
    file.write_text(yaml.safe_dump(document, sort_keys=False, width=1000), encoding="utf-8")
    return file


def _wider_ranges(expression: str) -> str:
    return "".join(
        DURATION.sub(lambda found: format_ms(parse_ms(found.group()) + 1), token.text, count=1)
        if token.kind == "range"
        else token.text
        for token in tokens(expression)
    )


def place(directory: Path, cases: Case, name: str, **options: Any) -> Path:
    """The cases beside rules rendered with `options`; `rule_files` are looked up by their names."""
    for file, text in render(**{"pod_series": True, **options}).items():
        (directory / file).write_text(text, encoding="utf-8")
    cases = cases | {"rule_files": [Path(file).name for file in cases["rule_files"]]}
    target = directory / f"{name}.cases.yaml"
    target.write_text(yaml.safe_dump(cases, sort_keys=False, width=1000), encoding="utf-8")
    return target


def faster(cases: Case, scale: float) -> Case:
    """The same story `scale` times as fast. Series of events per second and of seconds are other numbers then."""
    return cases | {
        "evaluation_interval": _shorter(cases["evaluation_interval"], scale),
        "tests": [_faster_test(test, scale) for test in cases["tests"]],
    }


def _shorter(text: str, scale: float) -> str:
    return format_ms(parse_ms(text) / scale)


def _faster_test(test: Case, scale: float) -> Case:
    changed = test | {"interval": _shorter(test["interval"], scale)}
    for kind in ("promql_expr_test", "alert_rule_test"):
        if kind in test:
            changed[kind] = [item for item in (_faster_item(item, scale) for item in test[kind]) if item]
    return changed


def _faster_item(item: Case, scale: float) -> Case | None:
    expression = item.get("expr", "")
    if re.search(r":rate1m|:deriv5m|exhaustion:seconds", expression):
        return None
    return item | {
        "eval_time": _shorter(item["eval_time"], scale),
        **({"expr": map_durations(expression, lambda ms: ms / scale)} if expression else {}),
    }


def relabelled(cases: Case, join: str) -> Case:
    """node-exporter's series without their node, found again through `join`."""
    return cases | {"tests": [test | {"input_series": list(_series(test, join))} for test in cases["tests"]]}


def _series(test: Case, join: str) -> Iterator[dict[str, str]]:
    pods = set()
    for item in test["input_series"]:
        match = _FOREIGN.match(item["series"])
        node = _NODE.search(match.group(2)) if match else None
        if match is None or node is None or (join == "kube_pod_info" and match.group(1).startswith("kubelet_")):
            yield item
            continue
        rest = _NODE.sub("", match.group(2)).strip(",")
        pods.add(node.group(1))
        labels = rest if "instance=" in rest else ",".join(filter(None, (_found_by(join, node.group(1)), rest)))
        yield {"series": f"{match.group(1)}{{{labels}}}", "values": item["values"]}
    if join == "kube_pod_info":
        yield from (_pod_info(node) for node in sorted(pods))


def _found_by(join: str, node: str) -> str:
    if join == "instance":
        return f'instance="{node}:9100"'
    return f'instance="10.1.1.1:9100",namespace="monitoring",pod="prometheus-node-exporter-{node}"'


def _pod_info(node: str) -> dict[str, str]:
    labels = {
        "created_by_kind": "DaemonSet",
        "namespace": "monitoring",
        "node": node,
        "pod": f"prometheus-node-exporter-{node}",
        "uid": f"ne-{node}",
    }
    named = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return {"series": f"kube_pod_info{{{named}}}", "values": "1x4000"}
