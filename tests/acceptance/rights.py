"""Rights as atoms, so that what a chart grants and what a drill used can be compared."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from remediator.drill.rights import NAMESPACE
from tests.chart.conftest import CHART, LEAST, helm


class Right(NamedTuple):
    """One verb on one resource; `namespace` empty: in all of them."""

    verb: str
    group: str
    resource: str
    namespace: str = ""


def chart_for(policy: Mapping[str, Any], directory: Path) -> Path:
    """The chart's manifests as they would be installed for a policy."""
    file = directory / "policy.yaml"
    file.write_text(yaml.safe_dump(dict(policy), sort_keys=False))
    words = [word for setting in LEAST for word in ("--set", setting)]
    done = helm(
        "helm4", "template", "remediator", str(CHART), "--namespace", NAMESPACE, "--set-file", f"policy={file}", *words
    )
    assert done.returncode == 0, done.stderr
    manifests = directory / "chart.yaml"
    manifests.write_text(done.stdout)
    return manifests


def granted(manifests: Path) -> set[Right]:
    """By all roles of a rendered chart."""
    found = [each for each in yaml.safe_load_all(manifests.read_text()) if each]
    homes = {"ClusterRole": "", "Role": NAMESPACE}
    return {
        Right(*atom, role["metadata"].get("namespace", homes[role["kind"]]))
        for role in found
        if role["kind"] in homes
        for atom in _each(role["rules"])
    }


def _each(rules: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((verb, group, resource) for verb in rule["verbs"])


def unused(rights: Iterable[Right], calls: Iterable[Mapping[str, Any]]) -> set[Right]:
    """Rights that no call needed."""
    made = {(call["verb"], call["group"], call["resource"], call["namespace"]) for call in calls}
    everywhere = {each[:3] for each in made}
    return {right for right in rights if (right not in made if right.namespace else right[:3] not in everywhere)}


def forbidden(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Calls that the chart's roles did not allow."""
    return [f"{call['verb']} {call['resource']} {call['group']}" for call in calls if call["forbidden"]]
