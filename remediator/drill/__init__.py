"""The drill: the whole product rehearsed against a simulated cluster, with real Prometheus and Alertmanager.

The product never imports this package; the drill speaks to the product over HTTP, as a real cluster would.
"""
