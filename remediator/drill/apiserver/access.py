"""Who asks, and may they: bearer tokens to users, RBAC rules to answers, SelfSubjectAccessReview.

Without configured users everybody is `system:admin` and may everything, as with a kubeconfig of the cluster's
owner.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remediator.drill.apiserver.errors import ApiError, unauthorized
from remediator.drill.apiserver.resources import Json

ADMIN = "system:admin"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def full_resource(self) -> str:
        """`pods/eviction`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Grant:
    """PolicyRules for one user, in one namespace or (None) everywhere."""

    user: str
    rules: Sequence[Json]
    namespace: str | None = None


@dataclass(slots=True)
class Access:
    """Tokens and grants; empty: everybody may everything."""

    tokens: Mapping[str, str] = field(default_factory=dict)
    grants: Sequence[Grant] = ()
    anonymous: str = ""
    """Who it is that sends no token; empty: they are refused."""

    @staticmethod
    def from_objects(tokens: Mapping[str, str], objects: Iterable[Json]) -> "Access":
        """Tokens (token -> user name) and RBAC objects as in manifests: roles of both kinds and their bindings.

        A binding's ServiceAccount is the user `system:serviceaccount:NAMESPACE:NAME`; groups are not known.
        Raises ValueError for a binding of a role that is not among the objects.
        """
        known = list(objects)
        roles = {_role_key(obj): obj.get("rules") or [] for obj in known if obj["kind"] in ("Role", "ClusterRole")}
        bindings = [obj for obj in known if obj["kind"] in ("RoleBinding", "ClusterRoleBinding")]
        return Access(tokens, [grant for binding in bindings for grant in _grants(binding, roles)])

    def user(self, authorization: str) -> str:
        """User of a bearer token; raises 401."""
        if not self.tokens:
            return ADMIN
        if not authorization and self.anonymous:
            return self.anonymous
        scheme, _, token = authorization.partition(" ")
        user = self.tokens.get(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def allows(self, user: str, asked: Attributes) -> bool:
        """True when a grant covers it."""
        if user == ADMIN or not self.tokens:
            return True
        return any(
            grant.user == user
            and grant.namespace in (None, asked.namespace)
            and any(_covers(rule, asked) for rule in grant.rules)
            for grant in self.grants
        )

    def check(self, user: str, asked: Attributes) -> None:
        """Raise a 403 worded as a real server's."""
        if self.allows(user, asked):
            return
        where = f' in the namespace "{asked.namespace}"' if asked.namespace else " at the cluster scope"
        named = f"{asked.resource}{'.' + asked.group if asked.group else ''}"
        subject = f'{named} "{asked.name}"' if asked.name else named
        message = (
            f'{subject} is forbidden: User "{user}" cannot {asked.verb} resource "{asked.full_resource}" '
            f'in API group "{asked.group}"{where}'
        )
        details: Json = {"name": asked.name} if asked.name else {}
        if asked.group:
            details["group"] = asked.group
        # A real server names the resource here without its subresource.
        raise ApiError(403, message, "Forbidden", {**details, "kind": asked.resource})

    def review(self, user: str, body: Json) -> Json:
        """Answer a SelfSubjectAccessReview."""
        spec: Json = body.get("spec") or {}
        wanted: Json = spec.get("resourceAttributes") or {}
        keys = ("verb", "group", "resource", "namespace", "name", "subresource")
        asked = Attributes(*(wanted.get(key) or "" for key in keys))
        if "resourceAttributes" not in spec and "nonResourceAttributes" not in spec:
            text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            raise ApiError(422, f'SelfSubjectAccessReview.authorization.k8s.io "" is invalid: {text}', "Invalid", {})
        allowed = "nonResourceAttributes" in spec or self.allows(user, asked)
        return _reviewed("SelfSubjectAccessReview", spec, {"allowed": allowed})

    def rules_review(self, user: str, body: Json) -> Json:
        """Answer a SelfSubjectRulesReview: what the user may in a namespace."""
        spec: Json = body.get("spec") or {}
        everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        open_to_all = user == ADMIN or not self.tokens
        theirs = [grant for grant in self.grants if grant.user == user]
        rules = [rule for grant in theirs if grant.namespace in (None, spec.get("namespace")) for rule in grant.rules]
        found = everything if open_to_all else rules
        status = {"resourceRules": found, "nonResourceRules": [], "incomplete": False}
        return _reviewed("SelfSubjectRulesReview", spec, status)


def _reviewed(kind: str, spec: Json, status: Json) -> Json:
    head = {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "metadata": {}}
    return {**head, "spec": spec, "status": status}


def _role_key(obj: Json) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return obj["kind"], (metadata.get("namespace") or "") if obj["kind"] == "Role" else "", metadata["name"]


def _grants(binding: Json, roles: Mapping[tuple[str, str, str], Sequence[Json]]) -> Iterator[Grant]:
    reference, namespace = binding["roleRef"], binding["metadata"].get("namespace")
    own = (namespace or "") if reference["kind"] == "Role" else ""
    rules = roles.get((reference["kind"], own, reference["name"]))
    if rules is None:
        name = binding["metadata"]["name"]
        raise ValueError(f"{binding['kind']} {name}: {reference['kind']} {reference['name']} is not among the objects")
    for subject in binding.get("subjects") or []:
        user = subject["name"]
        if subject["kind"] == "ServiceAccount":
            user = f"system:serviceaccount:{subject.get('namespace') or namespace}:{user}"
        yield Grant(user, rules, namespace if binding["kind"] == "RoleBinding" else None)


def _covers(rule: Json, asked: Attributes) -> bool:
    names: list[str] = rule.get("resourceNames") or []
    resources = {"*", asked.full_resource, f"*/{asked.subresource}" if asked.subresource else "*"}
    return (
        bool({"*", asked.verb} & set(rule.get("verbs") or []))
        and bool({"*", asked.group} & set(rule.get("apiGroups") or []))
        and bool(resources & set(rule.get("resources") or []))
        and (not names or asked.name in names)
    )
