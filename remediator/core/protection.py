"""Filters 1 to 8: who the pod is, and whether anybody said that it may, or may not, be evicted.

Each is a small function from a pod's profile and the pass's lookups to a reason with figures, or None. Their
order stands in filters.py.
"""

from fnmatch import fnmatchcase

from remediator.core.business import RUN_TO_COMPLETION
from remediator.core.figures import duration, size
from remediator.core.model import PodFacts, Tier
from remediator.core.oom import OomClass
from remediator.core.profile import Lookups, Profile
from remediator.core.reason import Reason
from remediator.core.silences import act_labels, describe, silenced_by
from remediator.core.state import Reasoned

EVICT_ANNOTATION = "remediator.io/evict"
AUTOSCALER_ANNOTATION = "cluster-autoscaler.kubernetes.io/safe-to-evict"
HELM_HOOK_ANNOTATION = "helm.sh/hook"


def is_run_to_completion(pod: PodFacts) -> bool:
    """Job pods have no replicas to keep."""
    return pod.workload is not None and pod.workload.kind in RUN_TO_COMPLETION


def not_running(profile: Profile, _: Lookups) -> Reasoned | None:
    """Terminal or Pending: nothing to gain."""
    pod = profile.pod
    if pod.phase != "Running":
        return Reasoned(Reason.NOT_RUNNING, f"phase {pod.phase} {pod.status_reason}".rstrip())
    return None


def terminating(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Already leaving."""
    since = profile.pod.terminating_since
    if since is None:
        return None
    stuck = lookups.situation.now - since
    held = f", held by {', '.join(profile.pod.finalizers)}" if profile.pod.finalizers else ""
    return Reasoned(Reason.TERMINATING, f"terminating for {duration(max(0.0, stuck))}{held}")


def mirror(profile: Profile, _: Lookups) -> Reasoned | None:
    """Static pods."""
    static = profile.pod.workload is not None and profile.pod.workload.kind == "Node"
    if profile.pod.mirror or static:
        return Reasoned(Reason.MIRROR_POD, "a static pod: deleting its mirror frees nothing")
    return None


def daemonset(profile: Profile, _: Lookups) -> Reasoned | None:
    """Would come back at once."""
    workload = profile.pod.workload
    if workload is not None and workload.kind == "DaemonSet":
        return Reasoned(Reason.DAEMONSET_POD, "would return to this node at once; raise its request instead")
    return None


def no_controller(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Bare pods; waived where a Koordinator label opts in."""
    if profile.pod.workload is None and not lookups.by_label:
        return Reasoned(Reason.NO_CONTROLLER, "nobody would start it again")
    return None


def system_priority(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """System-critical by priority or class."""
    pod, limit = profile.pod, lookups.situation.policy.safeguards.system_priority
    if (pod.priority or 0) >= limit or pod.priority_class.startswith("system-"):
        return Reasoned(Reason.SYSTEM_PRIORITY, f"priority {pod.priority} {pod.priority_class}".rstrip())
    return None


def protected_namespace(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Namespaces nobody may touch."""
    patterns = lookups.situation.policy.safeguards.protected_namespaces
    if any(fnmatchcase(profile.pod.namespace, pattern) for pattern in patterns):
        return Reasoned(Reason.PROTECTED_NAMESPACE, f"namespace {profile.pod.namespace} is protected")
    return None


def own_component(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """We do not evict what sees and what acts."""
    safeguards, pod = lookups.situation.policy.safeguards, profile.pod
    if pod.namespace in safeguards.own_namespaces:
        return Reasoned(Reason.OWN_COMPONENT, f"{pod.namespace} is the remediator's own namespace")
    name = pod.workload.name if pod.workload else pod.name
    for pattern in safeguards.protected_workloads:
        if fnmatchcase(name, pattern):
            return Reasoned(Reason.OWN_COMPONENT, f"workload {name} matches protected {pattern}")
    return None


def critical(profile: Profile, _: Lookups) -> Reasoned | None:
    """`critical` binds every strategy."""
    if profile.standing.tier is Tier.CRITICAL:
        return Reasoned(Reason.TIER_CRITICAL, f"critical by {profile.standing.source}")
    return None


def tier_not_allowed(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """The ladder names the tiers."""
    tier = profile.standing.tier
    if lookups.by_label or tier is None or tier in lookups.tiers:
        return None
    allowed = ", ".join(lookups.tiers) or "nobody"
    detail = f"tier {tier} (by {profile.standing.source}); this level evicts {allowed}"
    return Reasoned(Reason.TIER_NOT_ALLOWED, detail)


def undeclared(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Nobody said that it may be evicted."""
    return None if lookups.by_label else profile.standing.problem


def helm_hook(profile: Profile, _: Lookups) -> Reasoned | None:
    """A hook runs once, at a bad moment to be killed."""
    owner = profile.workload.annotations if profile.workload else {}
    hook = profile.pod.annotations.get(HELM_HOOK_ANNOTATION) or owner.get(HELM_HOOK_ANNOTATION)
    return Reasoned(Reason.HELM_HOOK, f"Helm hook {hook}") if hook else None


def job_without_retries(profile: Profile, _: Lookups) -> Reasoned | None:
    """Evicting it would fail the Job."""
    if is_run_to_completion(profile.pod) and profile.workload and profile.workload.backoff_limit == 0:
        return Reasoned(Reason.JOB_WITHOUT_RETRIES, "backoffLimit 0: evicting it fails the Job for good")
    return None


def opted_out(profile: Profile, _: Lookups) -> Reasoned | None:
    """Annotations of the pod or its workload; an unreadable value protects."""
    owner = profile.workload.annotations if profile.workload else {}
    for annotation in (EVICT_ANNOTATION, AUTOSCALER_ANNOTATION):
        for value in (profile.pod.annotations.get(annotation), owner.get(annotation)):
            if value is not None and (said := _opt_out(annotation, value)) is not None:
                return said
    return None


def _opt_out(annotation: str, value: str) -> Reasoned | None:
    word = value.strip().lower()
    if word == "true":
        return None
    if word == "false":
        return Reasoned(Reason.OPTED_OUT, f'{annotation}: "{value}"')
    detail = f'{annotation} is "{value}", neither "true" nor "false": protected until it can be read'
    return Reasoned(Reason.OPT_OUT_UNREADABLE, detail)


def pod_silenced(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """A silence holds this pod."""
    situation, pod = lookups.situation, profile.pod
    if situation.silences is None or not situation.silences.silences:
        return None
    labels = act_labels(
        situation.policy,
        situation.silences,
        node=situation.node,
        action="evict",
        namespace=pod.namespace,
        pod=pod.name,
        workload=pod.workload,
        tier=profile.standing.tier or "",
    )
    silence = silenced_by(situation.silences.silences, labels)
    return Reasoned(Reason.POD_SILENCED, describe(silence)) if silence else None


def priority_ceiling(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Above the policy's ceiling."""
    ceiling, priority = lookups.situation.policy.safeguards.priority_ceiling, profile.pod.priority or 0
    if ceiling is not None and priority > ceiling:
        return Reasoned(Reason.PRIORITY_ABOVE_CEILING, f"priority {priority} above the ceiling {ceiling}")
    return None


def volume(profile: Profile, lookups: Lookups) -> Reasoned | None:
    """Holds data that the policy does not open."""
    rule, tier = profile.standing.rule, profile.standing.tier
    allowed = lookups.situation.policy.safeguards.volumes_allowed.get(tier, ()) if tier else ()
    if rule is not None and rule.allow_volumes is not None:
        allowed = rule.allow_volumes
    held = sorted(profile.pod.volumes - set(allowed))
    return Reasoned(Reason.HAS_VOLUME, f"holds data in {', '.join(held)}") if held else None


def limit_oom(profile: Profile, _: Lookups) -> Reasoned | None:
    """Would be OOM-killed anywhere."""
    if profile.oom is OomClass.LIMIT:
        limit = size(profile.pod.limit_bytes or 0)
        return Reasoned(Reason.LIMIT_OOM, f"OOM-killed again and again at its own limit of {limit}")
    return None
