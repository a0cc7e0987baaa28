"""What a cgroup's path says: pod or container, UID, QoS class, container id, runtime. Pure.

Components are walked from the root; the first pod and the first container below it count, whatever is nested deeper
is somebody's inner tree. All shapes of kubelet drivers and runtimes that are known are in one table of patterns; a
path that fits none is not a pod's, and never an error.
"""

import re
from dataclasses import dataclass

GUARANTEED = "guaranteed"
_PREFIX = r"(?:.+-)?"
_ROOT = re.compile(rf"^{_PREFIX}kubepods(?:\.slice)?$")
_QOS = re.compile(rf"^(?:{_PREFIX}kubepods-)?(burstable|besteffort)(?:\.slice)?$")
_POD = re.compile(rf"^{_PREFIX}kubepods(?:-(?P<qos>burstable|besteffort))?-pod(?P<uid>[^.:]+)\.slice$")
_POD_CGROUPFS = re.compile(r"^pod(?P<uid>[0-9a-zA-Z_-]+)$")
# kubelet with the systemd driver, runtime with cgroupfs: pod and container in one component.
_MISMATCH = re.compile(
    rf"^{_PREFIX}kubepods(?:-(?P<qos>burstable|besteffort))?-pod(?P<uid>[^.:]+)\.slice:(?P<prefix>[^:]+):(?P<id>.+)$"
)
_HELPER = re.compile(r"^crio-conmon-|\.mount$")
_SCOPE = re.compile(r"^(?P<prefix>cri-containerd|crio|docker|libpod)-(?P<id>.+)\.scope$")
_CRIO = re.compile(r"^crio-(?P<id>[0-9a-f]{64})$")
_KATA = re.compile(r"^kata_(?P<id>[0-9a-f]+)$")
_ID = re.compile(r"^(?P<id>[0-9a-f]{64})$")
_RUNTIMES = {"cri-containerd": "containerd", "crio": "cri-o", "docker": "docker", "libpod": "podman"}


@dataclass(frozen=True, slots=True)
class CgroupPath:
    """What a path is. `level`: root, qos, pod, container, helper, nested, none."""

    level: str
    uid: str = ""
    qos: str = ""
    container_id: str = ""
    runtime: str = ""


NOTHING = CgroupPath("none")


def classify(path: str) -> CgroupPath:
    """A cgroup path, relative to the hierarchy's root, e.g. `/kubepods/burstable/pod…`."""
    found, qos = NOTHING, ""
    for component in path.strip("/").split("/"):
        if found.level in ("none", "root", "qos"):
            found, qos = _above_pods(found, component, qos)
        elif found.level == "pod":
            found = _below_pod(found, component)
        elif found.level == "container":
            found = CgroupPath("nested", found.uid, found.qos, found.container_id, found.runtime)
    return found


def _above_pods(found: CgroupPath, component: str, qos: str) -> tuple[CgroupPath, str]:
    """What one more component makes of the path so far, and the QoS class of the directories above a pod."""
    if (named := _self_explaining(component)) is not None:
        return named, qos
    if _ROOT.match(component):
        return CgroupPath("root"), ""
    if found.level != "none":
        if (pod := _POD_CGROUPFS.match(component)) is not None:
            return CgroupPath("pod", _uid(pod["uid"]), qos or GUARANTEED), qos
        if (directory := _QOS.match(component)) is not None:
            return CgroupPath("qos", qos=directory[1]), directory[1]
    return NOTHING, ""


def _self_explaining(component: str) -> CgroupPath | None:
    """Systemd's names tell everything by themselves, wherever they hang."""
    if (both := _MISMATCH.match(component)) is not None:
        runtime = _RUNTIMES.get(both["prefix"], both["prefix"])
        return CgroupPath("container", _uid(both["uid"]), both["qos"] or GUARANTEED, both["id"], runtime)
    if (pod := _POD.match(component)) is not None:
        return CgroupPath("pod", _uid(pod["uid"]), pod["qos"] or GUARANTEED)
    return None


def _below_pod(pod: CgroupPath, component: str) -> CgroupPath:
    if _HELPER.search(component):
        return CgroupPath("helper", pod.uid, pod.qos)
    if (scope := _SCOPE.match(component)) is not None:
        return CgroupPath("container", pod.uid, pod.qos, scope["id"], _RUNTIMES[scope["prefix"]])
    for pattern, runtime in ((_CRIO, "cri-o"), (_KATA, "kata"), (_ID, "")):
        if (match := pattern.match(component)) is not None:
            return CgroupPath("container", pod.uid, pod.qos, match["id"], runtime)
    return CgroupPath("nested", pod.uid, pod.qos)


def _uid(text: str) -> str:
    """systemd escapes dashes as underscores; the API writes dashes."""
    return text.replace("_", "-")
