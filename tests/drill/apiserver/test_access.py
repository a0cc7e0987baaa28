"""Who may what: tokens, RBAC objects as in manifests, reviews."""

from typing import Any

import pytest

from remediator.drill.apiserver.access import Access, Attributes
from remediator.drill.apiserver.store import Store
from tests.simulated import Serve

Json = dict[str, Any]
USER = "system:serviceaccount:remediator:remediator"


def role(kind: str, name: str, rules: list[Json], namespace: str | None = None) -> list[Json]:
    """A role and its binding to the service account."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    subject = {"kind": "ServiceAccount", "name": "remediator", "namespace": "remediator"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    binding = "ClusterRoleBinding" if kind == "ClusterRole" else "RoleBinding"
    return [
        {"kind": kind, "metadata": metadata, "rules": rules},
        {"kind": binding, "metadata": metadata, "roleRef": reference, "subjects": [subject]},
    ]


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Json:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


OBJECTS = [
    *role("ClusterRole", "reads", [rule("get list watch", "pods nodes"), rule("create", "pods/eviction")]),
    *role("Role", "leases", [rule("*", "leases", "coordination.k8s.io", resourceNames=["mine"])], "remediator"),
]


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (Attributes("list", "", "pods"), True),
        (Attributes("create", "", "pods", "shop", "x", "eviction"), True),
        (Attributes("delete", "", "pods", "shop", "x"), False),
        (Attributes("get", "", "pods", "shop", "x", "status"), False),
        (Attributes("update", "coordination.k8s.io", "leases", "remediator", "mine"), True),
        (Attributes("update", "coordination.k8s.io", "leases", "remediator", "other"), False),
        (Attributes("update", "coordination.k8s.io", "leases", "shop", "mine"), False),
        (Attributes("create", "coordination.k8s.io", "leases", "remediator"), False),
    ],
)
def test_manifests_grant_what_they_say(asked: Attributes, allowed: bool) -> None:
    """Roles, cluster roles, their bindings, subresources and resource names, as a real server reads them."""
    assert Access.from_objects({"t": USER}, OBJECTS).allows(USER, asked) is allowed


def test_a_binding_without_its_role_is_told() -> None:
    """Instead of granting nothing silently."""
    with pytest.raises(ValueError, match="ClusterRoleBinding reads: ClusterRole reads is not among the objects"):
        Access.from_objects({}, OBJECTS[1:2])


def test_reviews_answer_from_the_rules(serve: Serve) -> None:
    """SelfSubjectAccessReview for one act, SelfSubjectRulesReview for all of a namespace."""
    served = serve(Store(), Access.from_objects({"t": USER}, OBJECTS))
    token = {"Authorization": "Bearer t"}

    def review(kind: str, spec: Json) -> Json:
        path = f"/apis/authorization.k8s.io/v1/{kind}"
        status: Json = served.ask("POST", path, {"spec": spec}, headers=token).json()["status"]
        return status

    evict = {"verb": "create", "resource": "pods", "subresource": "eviction", "namespace": "shop"}
    assert review("selfsubjectaccessreviews", {"resourceAttributes": evict})["allowed"] is True
    delete = {"verb": "delete", "resource": "pods", "namespace": "shop"}
    assert review("selfsubjectaccessreviews", {"resourceAttributes": delete})["allowed"] is False
    rules = review("selfsubjectrulesreviews", {"namespace": "shop"})["resourceRules"]
    assert rules == OBJECTS[0]["rules"]


def test_a_refusal_at_the_cluster_scope_says_so(serve: Serve) -> None:
    """403 with user, verb, resource and scope in its message."""
    served = serve(Store(), Access.from_objects({"t": USER}, OBJECTS))
    answer = served.ask("PATCH", "/api/v1/nodes/n1", {}, headers={"Authorization": "Bearer t"})
    told = f'nodes "n1" is forbidden: User "{USER}" cannot patch resource "nodes" in API group "" at the cluster scope'
    assert (answer.status_code, answer.json()["message"]) == (403, told)


def test_a_list_of_one_name_is_asked_by_its_name(serve: Serve) -> None:
    """A field selector on metadata.name lets resourceNames grant a list or a watch."""
    served = serve(Store(), Access.from_objects({"t": USER}, OBJECTS))
    token = {"Authorization": "Bearer t"}
    path = "/apis/coordination.k8s.io/v1/namespaces/remediator/leases"
    assert served.ask("GET", f"{path}?fieldSelector=metadata.name%3Dmine", headers=token).status_code == 200
    assert served.ask("GET", path, headers=token).status_code == 403
