"""Who asks, and may they: bearer tokens to users, RBAC rules to answers, SelfSubjectAccessReview.

Without configured users everybody is `system:admin` and may everything, as with a kubeconfig of the cluster's
owner.
"""

from collections.abc import Mapping, Sequence
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

    def user(self, authorization: str) -> str:
        """User of a bearer token; raises 401."""
        if not self.tokens:
            return ADMIN
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
        raise ApiError(403, message, "Forbidden", {**details, "kind": asked.resource})

    def review(self, user: str, body: Json) -> Json:
        """Answer a SelfSubjectAccessReview."""
        spec: Json = body.get("spec") or {}
        wanted: Json = spec.get("resourceAttributes") or {}
        asked = Attributes(
            wanted.get("verb", ""),
            wanted.get("group", ""),
            wanted.get("resource", ""),
            wanted.get("namespace", ""),
            wanted.get("name", ""),
            wanted.get("subresource", ""),
        )
        return {
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": spec,
            "status": {"allowed": self.allows(user, asked)},
        }


def _covers(rule: Json, asked: Attributes) -> bool:
    names: list[str] = rule.get("resourceNames") or []
    return (
        bool({"*", asked.verb} & set(rule.get("verbs") or []))
        and bool({"*", asked.group} & set(rule.get("apiGroups") or []))
        and bool({"*", asked.full_resource} & set(rule.get("resources") or []))
        and (not names or asked.name in names)
    )
