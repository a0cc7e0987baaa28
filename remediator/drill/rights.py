"""The rights a drill holds the remediator to: RBAC manifests, such as a rendered chart, for the simulated API server.

People and the drill itself send no token and own the cluster; the remediator's token stands for its service account.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from remediator.drill.apiserver.access import ADMIN, Access
from remediator.drill.processes import DrillError

Json = dict[str, Any]
NAMESPACE = "remediator"
"""Where the drill's remediator lives, and a manifest that names no namespace."""
TOKEN = "the-remediator"  # noqa: S105  # opens nothing but a simulated cluster on loopback
_IN_NAMESPACE = ("Role", "RoleBinding")


def access_of(file: Path) -> Access:
    """Who may what by these manifests; raises DrillError when they are none or lack the server's StatefulSet."""
    try:
        objects = [_placed(each) for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]
        (account,) = [
            each["spec"]["template"]["spec"]["serviceAccountName"] for each in objects if each["kind"] == "StatefulSet"
        ]
        user = f"system:serviceaccount:{NAMESPACE}:{account}"
        found = Access.from_objects({TOKEN: user}, objects)
    except (OSError, yaml.YAMLError, ValueError, KeyError, TypeError) as error:
        raise DrillError(
            f"--rights {file}: {error}; give the output of `helm template remediator helm/remediator "
            f"--namespace {NAMESPACE}` with your values"
        ) from error
    found.anonymous = ADMIN
    return found


def _placed(manifest: Json) -> Json:
    """In the namespace that `helm install` would put it into."""
    if manifest["kind"] in _IN_NAMESPACE:
        manifest["metadata"].setdefault("namespace", NAMESPACE)
    return manifest


def calls(requests_seen: Iterable[Json]) -> list[Json]:
    """What the remediator asked of the API server, each kind of call once, and how often it was forbidden."""
    counted: Counter[tuple[str, str, str, str]] = Counter()
    forbidden: Counter[tuple[str, str, str, str]] = Counter()
    for each in requests_seen:
        if "verb" not in each or not each["user_agent"].startswith("remediator"):
            continue
        resource = "/".join(part for part in (each["resource"], each["subresource"]) if part)
        kind = (each["verb"], each["group"], resource, each["namespace"])
        counted[kind] += 1
        forbidden[kind] += each["status"] == 403
    return [
        dict(zip(("verb", "group", "resource", "namespace"), kind, strict=True))
        | {"count": count, "forbidden": forbidden[kind]}
        for kind, count in sorted(counted.items())
    ]
