"""Usage of pods from the rows of one query: the best source, the newest cgroup, and never half a set."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remediator.adapters.pod_usage import PodsDisagreeError, PodsUnknownError, agree, pod_usages, uid_of

GIB = 2**30
UID = "0a1b2c3d-0000-4000-8000-00000000000{}"
REPORT = UID.format(1)
REPORT_SLICE = f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{REPORT.replace('-', '_')}.slice"


def container(pod, gib, at, cgroup, name="c", namespace="shop"):
    """Both rows of a cAdvisor series: its value and the time of its sample."""
    labels = {"namespace": namespace, "pod": pod, "container": name, "id": cgroup}
    return [({**labels, "what": "cadvisor"}, gib * GIB), ({**labels, "what": "cadvisor_at"}, at)]


def info(pod, uid, namespace="shop"):
    return [({"what": "info", "namespace": namespace, "pod": pod, "uid": uid}, 1.0)]


def exported(uid, **values):
    return [({"what": what, "uid": uid}, value) for what, value in values.items()]


def test_b08_only_the_newest_cgroup_of_a_restarted_container_counts():
    """The series of the container before its restart lives on for minutes and is not added."""
    rows = container("report", 1.5, 1000, f"{REPORT_SLICE}/new.scope")
    rows += container("report", 1.4, 820, f"{REPORT_SLICE}/old.scope")
    assert pod_usages("n1", rows)[REPORT].working_set_bytes == int(1.5 * GIB)


def test_b08_an_old_cgroup_that_was_larger_does_not_win():
    """Newest, not largest: what is gone holds nothing."""
    rows = container("report", 0.5, 1000, f"{REPORT_SLICE}/new.scope")
    rows += container("report", 3.0, 990, f"{REPORT_SLICE}/old.scope")
    assert pod_usages("n1", rows)[REPORT].working_set_bytes == GIB // 2


def test_b09_a_nested_path_of_the_same_container_is_counted_once():
    """The same container under /kubepods and /docker/x/kubepods is one container."""
    rows = container("report", 1.5, 1000, f"{REPORT_SLICE}/c.scope")
    rows += container("report", 1.5, 1000, f"/docker/x{REPORT_SLICE}/c.scope")
    assert pod_usages("n1", rows)[REPORT].working_set_bytes == int(1.5 * GIB)


def test_containers_of_a_pod_are_added_and_the_oldest_sample_dates_the_sum():
    """Two containers make the pod; its sample is as old as the older one."""
    rows = container("report", 1, 1000, f"{REPORT_SLICE}/a.scope", "a")
    rows += container("report", 2, 970, f"{REPORT_SLICE}/b.scope", "b")
    found = pod_usages("n1", rows)[REPORT]
    assert (found.working_set_bytes, found.sampled_at, found.source) == (3 * GIB, 970, "cadvisor")


def test_a_container_that_has_ended_is_left_out():
    """The series of an init container lives on; it neither adds memory nor makes the pod's sample old."""
    rows = container("report", 1, 1000, f"{REPORT_SLICE}/a.scope", "a")
    rows += container("report", 2, 800, f"{REPORT_SLICE}/init.scope", "init")
    found = pod_usages("n1", rows)[REPORT]
    assert (found.working_set_bytes, found.sampled_at) == (GIB, 1000)


def test_the_uid_comes_from_kube_state_metrics_where_ids_were_dropped():
    """Some stacks drop cAdvisor's `id`: the pod's name leads to its UID."""
    rows = container("report", 1, 1000, "") + info("report", "from-ksm")
    assert set(pod_usages("n1", rows)) == {"from-ksm"}


def test_two_pods_of_one_name_are_two_pods():
    """A StatefulSet's pod was replaced on the node: its predecessor's memory is not its own."""
    other = UID.format(2)
    rows = container("crunch-0", 3, 900, f"/kubepods/burstable/pod{REPORT}/x")
    rows += container("crunch-0", 1, 1000, f"/kubepods/burstable/pod{other}/y") + info("crunch-0", other)
    found = pod_usages("n1", rows)
    assert (found[REPORT].working_set_bytes, found[other].working_set_bytes) == (3 * GIB, GIB)


def test_our_exporter_is_preferred_pod_by_pod():
    """Where both know a pod the cgroup counts; a pod that only cAdvisor knows is still there, and says so."""
    other = UID.format(2)
    rows = exported(REPORT, working_set=GIB, anon=10, shmem=5, sampled_at=1000.0, growth=3.0, max=2 * GIB)
    rows += container("report", 9, 1000, f"{REPORT_SLICE}/c.scope")
    rows += container("web", 2, 990, f"/kubepods/burstable/pod{other}/y")
    found = pod_usages("n1", rows)
    assert found[REPORT].releasable_bytes == 15
    assert (found[REPORT].growth_bytes_per_second, found[REPORT].working_set_max_bytes) == (3.0, 2 * GIB)
    assert found[other].source == "cadvisor"


def test_without_anon_the_working_set_stands_in_and_says_so():
    """shmem is in the working set already: it is not added a second time."""
    found = pod_usages("n1", exported(REPORT, working_set=100, shmem=30, sampled_at=1.0))[REPORT]
    assert found.releasable_bytes == 100
    assert found.source != "exporter"


@pytest.mark.parametrize("source", ["exporter", "cadvisor"])
def test_b17_three_of_six_pods_missing_is_a_partial_scrape(source):
    """Scrape one has six pods, scrape two only three, the top pod missing: wait for the next."""
    rows = []
    for number in range(6):
        uid, size = UID.format(number), GIB * (6 - number)
        there = number >= 3
        if source == "exporter":
            rows += exported(uid, previous=size, **({"working_set": size, "anon": size} if there else {}))
        else:
            labels = {"namespace": "shop", "pod": f"p{number}", "container": "c", "id": f"/kubepods/pod{uid}/c"}
            rows.append(({**labels, "what": "cadvisor_previous"}, size))
            rows += container(f"p{number}", 6 - number, 1000, labels["id"]) if there else []
    with pytest.raises(PodsDisagreeError, match="3 of them are missing"):
        pod_usages("n1", rows)


def test_b17_the_top_pod_alone_missing_is_a_partial_scrape():
    """One pod is enough, when it is one that mattered."""
    rows = exported("top", previous=6 * GIB) + exported("web", previous=GIB, working_set=GIB, anon=GIB)
    with pytest.raises(PodsDisagreeError):
        pod_usages("n1", rows)


def test_all_pods_missing_at_once_is_a_failed_scrape():
    """An exporter that was too slow empties no node."""
    with pytest.raises(PodsDisagreeError):
        pod_usages("n1", exported("a", previous=GIB) + exported("b", previous=GIB))


def test_pods_come_and_go():
    """New pods and the end of small ones are no disagreement."""
    rows = exported("big", previous=99 * GIB, working_set=99 * GIB, anon=1)
    rows += exported("cron", previous=GIB // 2) + exported("new", working_set=GIB, anon=1)
    assert set(pod_usages("n1", rows)) == {"big", "new"}


def test_nobody_measures_the_pods():
    """No source at all is unknown, not an empty node."""
    with pytest.raises(PodsUnknownError, match="n1"):
        pod_usages("n1", info("web", "u"))


def test_a_node_without_pods_is_known_to_be_empty():
    """Our exporter runs there and sees none: that is an answer."""
    assert pod_usages("n1", [({"what": "exported", "node": "n1"}, 0.0)]) == {}


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1e12), max_size=6), st.data())
def test_what_is_still_there_agrees_with_itself(before, data):
    """Any superset of the pods one scrape ago is agreed on."""
    more = data.draw(st.sets(st.text(max_size=3)))
    agree(before, {*before, *more})


@pytest.mark.parametrize(
    ("cgroup", "uid"),
    [
        (f"/kubepods/burstable/pod{REPORT}/abc", REPORT),
        (f"{REPORT_SLICE}/cri-containerd-abc.scope", REPORT),
        (f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{REPORT.replace('-', '_')}.slice", REPORT),
        ("/kubepods/burstable/pod" + "0123456789abcdef" * 2 + "/abc", "0123456789abcdef" * 2),
        ("/system.slice/podman.service", ""),
        ("", ""),
    ],
)
def test_the_uid_is_read_off_the_cgroup_s_path(cgroup, uid):
    """Both drivers' paths, and static pods, whose UID is a hash without dashes."""
    assert uid_of(cgroup) == uid


def test_queries_live_in_one_place():
    """PromQL stands in promql.py; no other adapter holds a metric's selector."""
    adapters = Path(__file__).parents[2] / "remediator" / "adapters"
    for module in adapters.glob("*.py"):
        text = module.read_text()
        assert module.name == "promql.py" or "_over_time(" not in text, module.name
