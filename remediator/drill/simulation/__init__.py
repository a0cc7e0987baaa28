"""Everything of a cluster that is not the API server: controllers, scheduler, kubelets, memory, metrics.

Lives in scenario time: `World.tick(now)` moves everything on to a moment. It talks to the product only through
the API server's store and the metrics endpoints, so it can be exchanged for a real cluster.
"""
