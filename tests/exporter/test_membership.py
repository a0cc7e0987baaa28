"""Who is exported: coming, going, roots of many shapes, with inotify and without."""

import resource
from pathlib import Path

import pytest

from remediator.exporter.cgroups import layout
from remediator.exporter.files import Descriptors
from remediator.exporter.hierarchy import Hierarchy, find_pods, pod_roots, system_slices
from remediator.exporter.membership import RELIST_SECONDS, Membership
from remediator.exporter.watching import Watch
from tests.exporter.test_paths import ROWS

ID = "b" * 64


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["inotify", "scan"])
def members(request, tmp_path):
    """(membership over an empty root, the root, its clock)."""
    watch, clock = Watch(), Clock()
    if request.param == "scan":
        watch.close()
    elif not watch.works:
        pytest.skip("no inotify instance is left here")
    found = Membership(Hierarchy(2, str(tmp_path)), layout(2), Descriptors(), 2**40, "n", clock, watch)
    yield found, tmp_path, clock
    found.close()


def made(root: Path, path: str) -> Path:
    """A cgroup of plain files."""
    directory = root / path.strip("/")
    directory.mkdir(parents=True)
    (directory / "memory.current").write_text("5\n")
    (directory / "memory.stat").write_text("anon 5\n")
    return directory


def uids(found: Membership) -> list[str]:
    found.refresh()
    return sorted(pod.found.uid for pod in found.pods)


def test_pods_and_roots_that_come_and_go_are_seen_at_the_next_scrape(members):
    """First root, QoS class, pod, container: each is there at the scrape after it came, and gone after it went."""
    found, root, _ = members
    assert uids(found) == []
    made(root, "kubepods/podone")
    assert uids(found) == ["one"]
    made(root, "kubepods/burstable/podtwo")
    container = made(root, f"kubepods/burstable/podtwo/{ID}")
    assert uids(found) == ["one", "two"]
    assert [each.found.container_id for each in found.containers] == [ID]
    for file in container.iterdir():
        file.unlink()
    container.rmdir()
    found.refresh()
    assert found.containers == []


def test_a_container_replaced_between_two_scrapes_is_seen(tmp_path):
    """One went and one came: the directory has as many children as before, inotify knows better."""
    watch = Watch()
    if not watch.works:
        pytest.skip("no inotify instance is left here")
    found = Membership(Hierarchy(2, str(tmp_path)), layout(2), Descriptors(), 2**40, "n", Clock(), watch)
    (tmp_path / "kubepods" / "podone" / ID).mkdir(parents=True)
    found.refresh()
    (tmp_path / "kubepods" / "podone" / ID).rmdir()
    (tmp_path / "kubepods" / "podone" / ("c" * 64)).mkdir()
    found.refresh()
    assert [each.found.container_id for each in found.containers] == ["c" * 64]
    found.close()


def test_a_deep_root_is_found_within_half_a_minute(members):
    """Rootless pods hang deep below user.slice, where nobody watches."""
    found, root, clock = members
    deep = "user.slice/user-1000.slice/user@1000.service/"
    (root / deep).mkdir(parents=True)
    assert uids(found) == []
    made(root, f"{deep}kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podone.slice")
    clock.now += RELIST_SECONDS
    assert uids(found) == ["one"]


def test_mismatched_drivers_are_seen_pod_by_pod(members):
    """Pod and container in one component, under the runtime's service: the pod is the sum of its containers."""
    found, root, _ = members
    service = "system.slice/containerd.service"
    made(root, f"{service}/kubepods-burstable-podone.slice:cri-containerd:{'a' * 64}")
    assert uids(found) == ["one"]
    made(root, f"{service}/kubepods-burstable-podone.slice:cri-containerd:{ID}")
    made(root, f"{service}/kubepods-podtwo.slice:cri-containerd:{ID[:-1]}c")
    assert uids(found) == ["one", "two"]
    (one,) = (pod for pod in found.pods if pod.found.uid == "one")
    assert (len(one.parts), one.found.qos) == (2, "burstable")


def test_inotify_that_ends_leaves_the_scan(tmp_path):
    """Without watches (none left, say) the next scrape lists, and link counts tell from then on."""
    watch = Watch()
    found = Membership(Hierarchy(2, str(tmp_path)), layout(2), Descriptors(), 2**40, "n", Clock(), watch)
    made(tmp_path, "kubepods/podone")
    assert uids(found) == ["one"]
    watch.close()
    made(tmp_path, "kubepods/podtwo")
    found.refresh()
    made(tmp_path, "kubepods/podthree")
    assert uids(found) == ["one", "three", "two"]
    found.close()


def test_the_whole_table_of_paths_is_found_in_a_tree(tmp_path):
    """Every pod and container of the table is found from its root, each once; helpers and nested ones are not."""
    wanted = set()
    for row in ROWS:
        path, level, uid, _, container_id, _ = (row + [""] * 6)[:6]
        (tmp_path / path.strip("/")).mkdir(parents=True, exist_ok=True)
        if level in ("pod", "container"):
            wanted.add((level, uid, container_id))
    found = find_pods(str(tmp_path), pod_roots(str(tmp_path)), lambda _: None)
    told = [(each.level, each.uid, each.container_id) for _, each in found]
    assert len(told) == len(set(told))
    assert wanted - set(told) == set()


def test_a_pod_seen_twice_counts_at_its_shortest_path(tmp_path):
    """The docker driver of minikube shows each pod twice."""
    for prefix in ("", f"docker/{ID}/"):
        (tmp_path / f"{prefix}kubepods/podone").mkdir(parents=True)
    found = find_pods(str(tmp_path), pod_roots(str(tmp_path)), lambda _: None)
    assert [directory for directory, _ in found] == [str(tmp_path / "kubepods/podone")]


def test_memory_outside_pods_can_be_named(tmp_path):
    """Top-level slices and the runtimes' services are system cgroups."""
    for path in ("system.slice/containerd.service", "system.slice/ssh.service", "user.slice", "kubepods.slice"):
        (tmp_path / path).mkdir(parents=True)
    told = {path.removeprefix(str(tmp_path)) for path in system_slices(str(tmp_path))}
    assert told == {"/system.slice", "/user.slice", "/kubepods.slice", "/system.slice/containerd.service"}


def test_beyond_the_descriptor_limit_files_are_opened_each_time(members):
    """No descriptor is kept then, every value is still read."""
    found, root, _ = members
    made(root, "kubepods/podone")
    found._descriptors.limit = 0
    found.refresh()
    (pod,) = found.pods
    for _ in range(3):
        assert pod.cgroup.read()[0] == 5
    assert found._descriptors.kept == 0
    assert found._descriptors.exhausted


def test_the_soft_limit_is_raised_to_the_hard_one():
    """Thousands of cgroups need more descriptors than the usual soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    Descriptors()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
