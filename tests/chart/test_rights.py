"""Rights: the chart grants exactly what the adapters need for the policy that it installs."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from remediator.cli.outside import needed_rights
from remediator.config import load_policy
from remediator.core.policy import Policy
from tests.chart.conftest import NAMESPACE, VARIANTS, one, rendered, values_file


@pytest.mark.parametrize("variant", VARIANTS)
def test_rights_are_those_of_the_adapters(variant: str) -> None:
    """For its policy a variant grants every right that readiness asks for, and not one more."""
    granted: set[Right] = set()
    for role in (m for m in rendered(variant) if m["kind"] in ("ClusterRole", "Role")):
        everywhere = role["kind"] == "ClusterRole"
        granted |= _rights(role["rules"], "" if everywhere else role["metadata"].get("namespace", NAMESPACE))
    wanted: set[Right] = set()
    for rule in needed_rights(_policy(variant)):
        wanted |= _rights([rule], rule.get("namespace") or (NAMESPACE if rule.get("namespaced") else ""))
    assert granted == wanted


Right = tuple[str, str, str, tuple[str, ...], str]


def _rights(rules: list[Any], namespace: Any) -> set[Right]:
    """(namespace or everywhere, group, resource, names or any, verb)."""
    return {
        (namespace, group, resource, tuple(rule.get("resourceNames", ())), verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_roles_are_bound_to_the_server(variant: str) -> None:
    """Each role is bound, in its own namespace, to the service account that the server runs as."""
    account = one(rendered(variant), "StatefulSet")["spec"]["template"]["spec"]["serviceAccountName"]
    roles = [m for m in rendered(variant) if m["kind"] in ("ClusterRole", "Role")]
    bindings = [m for m in rendered(variant) if m["kind"].endswith("RoleBinding")]
    assert {(b["roleRef"]["kind"], b["roleRef"]["name"], b["metadata"].get("namespace")) for b in bindings} == {
        (r["kind"], r["metadata"]["name"], r["metadata"].get("namespace")) for r in roles
    }
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]


def _policy(variant: str) -> Policy:
    text = one(rendered(variant), "ConfigMap", "-policy")["data"]["policy.yaml"]
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "policy.yaml"
        file.write_text(text)
        return load_policy(file)


@pytest.mark.parametrize("variant", VARIANTS)
def test_policy_is_verbatim(variant: str) -> None:
    """The ConfigMap holds the policy to the letter, comments too, and the remediator accepts it."""
    given = yaml.safe_load(values_file(variant).read_text()).get("policy", "mode: observe\n")
    assert one(rendered(variant), "ConfigMap", "-policy")["data"]["policy.yaml"] == given
    assert _policy(variant).profile
