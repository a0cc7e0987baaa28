"""Evictions beyond the captures: what budgets allow, to whom, and what an accepted eviction leaves behind."""

from typing import Any

import pytest

from remediator.drill.apiserver.store import Store
from tests.drill.apiserver.conftest import RUNNING, pod
from tests.simulated import Served

Json = dict[str, Any]
UNREADY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
PATH = "/api/v1/namespaces/shop/pods/{}/eviction"


def budget(cluster: Served, spec: Json | None = None, **status: int) -> None:
    made = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}, **(spec or {})},
    }
    told = {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 2, "disruptionsAllowed": 1, **status}

    def put(store: Store) -> None:
        store.create("PodDisruptionBudget", made)
        store.update("PodDisruptionBudget", {**made, "status": told}, subresource="status")

    cluster.inside(put)


def evict(cluster: Served, name: str = "web-1", query: str = "", **options: Any) -> tuple[int, Json]:
    body = {"metadata": {"name": name, "namespace": "shop"}, "deleteOptions": options}
    answer = cluster.ask("POST", PATH.format(name) + query, body)
    return answer.status_code, answer.json()


def status_of_budget(cluster: Served) -> Json:
    found: Json = cluster.inside(Store.get, "PodDisruptionBudget", "shop", "web")["status"]
    return found


def set_status(cluster: Served, status: Json, name: str = "web-1") -> None:
    cluster.inside(Store.update, "Pod", {**pod(name), "status": status}, subresource="status")


def test_an_accepted_eviction_spends_the_budget_at_once(cluster: Served) -> None:
    """One disruption less, the pod remembered, the condition turned; the next one is refused by name and numbers."""
    budget(cluster, currentHealthy=1)
    cluster.inside(Store.create, "Pod", pod("web-2"))
    set_status(cluster, RUNNING, "web-2")
    assert evict(cluster)[0] == 201
    status = status_of_budget(cluster)
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["web-1"])
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("DisruptionAllowed", "False", "InsufficientPods")
    ]
    code, refusal = evict(cluster, "web-2")
    assert (code, refusal["details"]["causes"][0]["message"]) == (
        429,
        "The disruption budget web needs 1 healthy pods and has 1 currently",
    )


def test_a_dry_run_spends_nothing(cluster: Served) -> None:
    """Asked in the query or in the delete options: 201, and everything is as before."""
    budget(cluster)
    assert evict(cluster, query="?dryRun=All")[0] == 201
    assert evict(cluster, dryRun=["All"])[0] == 201
    assert status_of_budget(cluster)["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in cluster.inside(Store.get, "Pod", "shop", "web-1")["metadata"]


def test_a_failed_precondition_has_spent_the_budget(cluster: Served) -> None:
    """As on a real server: the budget is asked, and paid, before the UID is looked at."""
    budget(cluster)
    assert evict(cluster, preconditions={"uid": "another"})[0] == 409
    assert status_of_budget(cluster)["disruptionsAllowed"] == 0


@pytest.mark.parametrize(
    ("policy", "healthy", "code"),
    [(None, 2, 201), (None, 0, 429), ("IfHealthyBudget", 0, 429), ("AlwaysAllow", 0, 201)],
)
def test_an_unready_pod_goes_by_the_budget_s_policy(
    cluster: Served, policy: str | None, healthy: int, code: int
) -> None:
    """Under a healthy budget it goes for free; under a broken one only with AlwaysAllow; nothing is ever spent."""
    spec = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    budget(cluster, spec, currentHealthy=healthy, disruptionsAllowed=0)
    set_status(cluster, UNREADY)
    assert evict(cluster)[0] == code
    assert "disruptedPods" not in status_of_budget(cluster)


def test_a_budget_that_is_not_processed_yet_asks_to_come_again(cluster: Served) -> None:
    """429 with Retry-After, which the plain refusal of a budget has not."""
    budget(cluster, observedGeneration=0)
    body = {"metadata": {"name": "web-1"}}
    answer = cluster.ask("POST", PATH.format("web-1"), body)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")
    assert "still being processed" in answer.json()["details"]["causes"][0]["message"]


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_serve_nobody_need_no_budget(cluster: Served, phase: str) -> None:
    """Pending and ended pods go, whatever the budget says, without a DisruptionTarget condition."""
    budget(cluster, disruptionsAllowed=0)
    set_status(cluster, {"phase": phase})
    assert evict(cluster)[0] == 201
    assert status_of_budget(cluster)["disruptionsAllowed"] == 0


def test_the_grace_period_asked_for_wins_and_only_ever_shrinks(cluster: Served) -> None:
    """deleteOptions.gracePeriodSeconds; a later, longer one changes nothing, a shorter one counts from the first."""
    assert evict(cluster, gracePeriodSeconds=10)[0] == 201
    first = cluster.inside(Store.get, "Pod", "shop", "web-1")["metadata"]
    assert evict(cluster, gracePeriodSeconds=20)[0] == 201
    assert cluster.inside(Store.get, "Pod", "shop", "web-1")["metadata"] == first
    assert evict(cluster, gracePeriodSeconds=5)[0] == 201
    last = cluster.inside(Store.get, "Pod", "shop", "web-1")["metadata"]
    assert (first["deletionGracePeriodSeconds"], last["deletionGracePeriodSeconds"]) == (10, 5)
    assert last["deletionTimestamp"] < first["deletionTimestamp"]


def test_an_eviction_must_name_its_pod(cluster: Served) -> None:
    """A body without the name is a bad request, as one with another name is."""
    assert cluster.ask("POST", PATH.format("web-1"), {"kind": "Eviction"}).status_code == 400
