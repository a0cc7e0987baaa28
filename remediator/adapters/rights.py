"""May we do what the mode needs, and does the API server serve it? Asked of the server itself.

Rights by SelfSubjectAccessReview; the eviction subresource (policy/v1) by discovery, for there is no way round it:
where it is missing the product is not ready, and never deletes a pod instead.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from remediator.adapters.kubernetes_api import KubernetesApi, KubernetesError

Json = dict[str, Any]
_KEEP_SECONDS = 60.0
_EVICTION = "pods/eviction"


class Rights:
    """Checks a set of RBAC rules against what we are allowed; answers are kept for a minute."""

    def __init__(self, api: KubernetesApi, rules: Callable[[], Iterable[Json]], namespace: str) -> None:
        """`rules` are asked for each time: another policy may need other rights."""
        self._api, self._rules_now, self._namespace = api, rules, namespace
        self._rules: tuple[Json, ...] = ()
        self._asked_at, self._missing = float("-inf"), ""

    def ready(self) -> str:
        """Empty when all is allowed, else the first right that is missing."""
        rules = tuple(self._rules_now())
        if rules != self._rules or time.monotonic() - self._asked_at >= _KEEP_SECONDS:
            self._rules = rules
            try:
                self._missing = self._not_served() or next(self._denied(), "")
            except KubernetesError as error:
                return f"rights cannot be asked for: {error}"
            self._asked_at = time.monotonic() if not self._missing else float("-inf")
        return self._missing

    def _not_served(self) -> str:
        if not any(_EVICTION in rule["resources"] for rule in self._rules):
            return ""
        served = self._api.read_once(self._api.core.get_api_resources).get("resources") or []
        found = next((resource for resource in served if resource.get("name") == _EVICTION), None)
        if found is not None and found.get("version", "v1") == "v1":
            return ""
        return (
            "the API server does not serve pods/eviction in policy/v1 (Kubernetes 1.22 or newer): nobody can be evicted"
        )

    def _denied(self) -> Iterator[str]:
        for rule in self._rules:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        if not self._allowed(verb, group, resource, rule):
                            named = f"{resource}.{group}" if group else resource
                            yield f"the service account may not {verb} {named}: see the chart's ClusterRole"

    def _allowed(self, verb: str, group: str, resource: str, rule: Json) -> bool:
        plural, _, subresource = resource.partition("/")
        attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
        if rule.get("namespaced"):
            attributes["namespace"] = self._namespace
        if rule.get("namespace"):
            attributes["namespace"] = rule["namespace"]
        if names := rule.get("resourceNames"):
            attributes["name"] = names[0]
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = self._api.read_once(self._api.authorization.create_self_subject_access_review, body)
        return bool((answer.get("status") or {}).get("allowed"))
