"""The chart: what it renders is valid Kubernetes, grants exactly what the adapters need, and starts our programs."""

import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from cloudcoil.models.prometheus_operator import v1, v1alpha1
from kubernetes_validate import utils as schemas

from remediator.cli.serving import serve
from remediator.exporter import main as exporter
from scripts.fill_chart import fill
from tests.chart.conftest import CHART, HELMS, NAMESPACE, VARIANTS, helm, one, rendered, values_file, with_values

KUBERNETES = sorted({f"1.{v.split('.')[1]}.0" for v in schemas.all_versions()} - {"1.25.0"})
OPERATOR_KINDS = {"ServiceMonitor", "PodMonitor", "PrometheusRule", "AlertmanagerConfig"}


@pytest.mark.parametrize("program", HELMS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_lints(program: str, variant: str) -> None:
    """Helm 3 and 4 find nothing to complain about in any variant."""
    done = helm(program, "lint", "--strict", str(CHART), "-f", str(values_file(variant)))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("variant", VARIANTS)
def test_both_helms_render_the_same(variant: str) -> None:
    """Helm 4 installs what Helm 3 does."""
    assert rendered(variant, "helm3") == rendered(variant, "helm4")


def test_packages(tmp_path: Path) -> None:
    """The package holds rules, dashboards and CRD, and is small enough for a release's secret (1 MiB)."""
    assert helm("helm4", "package", str(CHART), "-d", str(tmp_path)).returncode == 0
    (package,) = tmp_path.glob("remediator-*.tgz")
    listed = subprocess.run(["tar", "tzf", str(package)], capture_output=True, text=True, check=True).stdout
    wanted = {"crds/noderemediations.yaml", "files/rules/node-memory.recording.yaml", "files/dashboards/fleet.json"}
    assert {name for name in wanted if f"remediator/{name}" in listed} == wanted
    assert package.stat().st_size < 512 * 1024


@pytest.mark.parametrize("version", KUBERNETES)
def test_valid_kubernetes(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every manifest of every variant is valid, with no unknown field, for Kubernetes 1.26 to the newest known."""
    monkeypatch.setattr(schemas, "schema_contents", functools.cache(schemas.schema_contents))
    for manifest in _different():
        kubernetes_validate.validate(manifest, version, strict=True)


@functools.cache
def _different() -> tuple[Any, ...]:
    """Each core manifest once; texts in ConfigMaps make no difference to their shape."""
    found = {}
    for manifest in (m for variant in VARIANTS for m in rendered(variant)):
        if manifest["kind"] not in OPERATOR_KINDS:
            shape = manifest | {"data": {}} if "data" in manifest else manifest
            found[json.dumps(shape, sort_keys=True)] = shape
    found["crd"] = yaml.safe_load((CHART / "crds" / "noderemediations.yaml").read_text())
    return tuple(found.values())


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "plain-prometheus"])
def test_operator_understands_its_objects(variant: str) -> None:
    """The Prometheus operator's own types (0.80) accept its objects, and know every field."""
    found = [manifest for manifest in rendered(variant) if manifest["kind"] in OPERATOR_KINDS]
    assert {"ServiceMonitor", "PrometheusRule", "AlertmanagerConfig"} <= {manifest["kind"] for manifest in found}
    for manifest in found:
        types = v1 if manifest["apiVersion"].endswith("/v1") else v1alpha1
        understood = getattr(types, manifest["kind"]).model_validate(manifest)
        assert list(_dropped(manifest, understood.model_dump(by_alias=True, exclude_none=True, mode="json"))) == []


def _dropped(given: Any, understood: Any, path: str = "") -> Iterator[str]:
    """What was given and not taken; defaults may have been added."""
    if isinstance(given, dict):
        yield from (f"{path}.{name}" for name in set(given) - set(understood))
        for name in set(given) & set(understood):
            yield from _dropped(given[name], understood[name], f"{path}.{name}")
    elif isinstance(given, list):
        for each, taken in zip(given, understood, strict=True):
            yield from _dropped(each, taken, f"{path}[]")


def test_crd_is_structural() -> None:
    """Every level of the CRD's schema has a type, for an API server refuses what is not structural."""
    crd = yaml.safe_load((CHART / "crds" / "noderemediations.yaml").read_text())
    for version in crd["spec"]["versions"]:
        untyped = list(_untyped(version["schema"]["openAPIV3Schema"], "schema"))
        assert untyped == []


# https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions: not allowed in any.
_FORBIDDEN = {"$ref", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties"}


def _untyped(schema: dict[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}: {word}" for word in _FORBIDDEN & set(schema))
    if schema.get("uniqueItems") or schema.get("additionalProperties") is False:
        yield f"{path}: uniqueItems or closed"
    if "type" not in schema and not schema.get("x-kubernetes-int-or-string"):
        yield path
    if "properties" in schema and "additionalProperties" in schema:
        yield f"{path}: properties and additionalProperties"
    for name, child in schema.get("properties", {}).items():
        yield from _untyped(child, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _untyped(schema[word], f"{path}.{word}")


# --- What runs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_server_takes_its_settings(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`remediator serve` understands every flag and variable of the StatefulSet, each file it names is mounted."""
    pod = one(rendered(variant), "StatefulSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    command, *flags = container["args"]
    assert command == "serve"
    for variable in (v for v in container["env"] if v["name"].startswith("REMEDIATOR_")):
        monkeypatch.setenv(variable["name"], variable.get("value", NAMESPACE))
    understood = {parameter.envvar for parameter in serve.params}
    assert {v["name"] for v in container["env"] if v["name"].startswith("REMEDIATOR_")} <= understood
    chosen = serve.make_context("serve", flags).params
    assert all(chosen[name] for name in ("prometheus", "alertmanager", "config", "namespace", "identity"))
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    for name in ("config", "webhook_token_file", "operator_tokens_file", "tls_cert_file", "prometheus_header_file"):
        assert chosen[name] is None or str(chosen[name].parent) in mounts
    assert str(chosen["audit_dir"]) in mounts
    policy = yaml.safe_load(one(rendered(variant), "ConfigMap", "-policy")["data"]["policy.yaml"])
    for target in policy.get("notifications", []):
        assert str(Path(target["url_file"]).parent) in mounts
    claims = one(rendered(variant), "StatefulSet")["spec"].get("volumeClaimTemplates", [])
    held = {volume["name"] for volume in (*pod["volumes"], *(claim["metadata"] for claim in claims))}
    assert {mount["name"] for mount in container["volumeMounts"]} <= held


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "observe"])
def test_exporter_runs_everywhere_with_nothing(variant: str) -> None:
    """The exporter tolerates all taints, mounts the host read-only, has no token, and its flags are known."""
    pod = one(rendered(variant), "DaemonSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert exporter.parser().parse_args(container["args"]).cgroup_root == Path("/host/cgroup")
    assert {"operator": "Exists"} in pod["tolerations"]
    assert pod["priorityClassName"] == "system-node-critical"
    assert pod["automountServiceAccountToken"] is False
    assert {volume["hostPath"]["path"] for volume in pod["volumes"]} == {"/sys/fs/cgroup", "/proc"}
    assert all(mount["readOnly"] for mount in container["volumeMounts"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_containers_are_confined(variant: str) -> None:
    """No container runs as root, writes its root filesystem or keeps a capability; no pod shares a host namespace."""
    for manifest in (m for m in rendered(variant) if m["kind"] in ("StatefulSet", "DaemonSet")):
        pod = manifest["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert not {"hostPID", "hostNetwork", "hostIPC"} & set(pod)
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


# --- Values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["image.repository="], "image.repository is not set"),
        (["exporter.image.repository="], "exporter.enabled=false"),
        (["prometheus.url="], "prometheus.url is not set"),
        (["alertmanager.urls=null"], "alertmanager.urls is empty"),
        (["webhook.tokenSecret.name="], "kubectl create secret generic"),
        (["webhook.insecure=true"], "contradict one another"),
        (["networkPolicy.enabled=true"], "networkPolicy.from"),
        (["operators.tokensSecret.name=t", "operators.tokensSecret.key=token"], "could approve plans"),
        (["serviceAccount.create=false"], "default account"),
        (["policy=modes: [{mode: enforced}]"], 'mode "enforced" is unknown'),
        (["policy=koordinator: {config_map: slo}"], "NAMESPACE/NAME"),
        ([r"policy=notifications: [{url_file: /etc/remediator/notify/ops}]"], "notifications.secretName"),
        (
            ["notifications.secretName=n", "policy=notifications: [{url_file: /run/ops}]"],
            "url_file /run/ops is mounted",
        ),
        (["prometheus.scrapeInterval=15s"], "rules.create=false"),
        (["policy=mode: enforced"], 'mode "enforced" is unknown'),
        (["policy=profile: grade"], 'profile "grade" is unknown'),
        (["policy=- a list"], "not a YAML mapping"),
        (["prometheus.uri=http://p"], "uri"),
        (["exporter.port=80"], "exporter"),
        (["rules.nodeJoin=pod"], "nodeJoin"),
    ],
)
def test_what_cannot_work_is_refused(settings: list[str], says: str) -> None:
    """A combination that cannot work, or an unknown value, is refused in words that name it."""
    done = with_values(*settings)
    assert done.returncode != 0
    assert says in done.stderr


def test_schema_is_closed_and_whole() -> None:
    """Every value of values.yaml is in the schema, and nothing else is."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert list(_astray(schema, values, "")) == []


def _astray(schema: dict[str, Any], values: dict[str, Any], path: str) -> Iterator[str]:
    known = set(schema["properties"]) - {"global"}
    yield from (f"{path}{name}" for name in known ^ set(values))
    if schema.get("additionalProperties") is not False:
        yield f"{path} is open"
    for name, child in schema["properties"].items():
        if "properties" in child:
            yield from _astray(child, values.get(name, {}), f"{path}{name}.")


def test_copies_are_fresh(tmp_path: Path) -> None:
    """Rules, route and dashboards in the chart are those of the repository (`make chart`)."""
    fill(tmp_path / "files")
    assert _texts(CHART / "files") == _texts(tmp_path / "files")


def _texts(directory: Path) -> dict[str, str]:
    return {str(f.relative_to(directory)): f.read_text() for f in sorted(directory.rglob("*")) if f.is_file()}
