"""remediator: sees memory pressure coming on Kubernetes nodes and moves the least important pods off in time."""
