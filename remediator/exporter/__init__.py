"""The cgroup exporter: a node's and its pods' memory, from cgroup v1 or v2 and /proc, as Prometheus reads it.

A process of its own (DaemonSet), standard library only, no Kubernetes access; it imports nothing of the rest of the
product and nothing of the rest imports it. It exports what the kernel says and never 0 for what it does not know.
"""
