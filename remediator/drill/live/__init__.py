"""The live drill: a "node" that is a real cgroup with a real limit, pods that are real processes, a real OOM killer.

Run twice with the same pods: once with nobody acting, once with the remediator. The Kubernetes API is still the
simulated one; memory, the exporter and what the kernel does are real.
"""
