"""One outside system each. Adapters never import one another, decide nothing, and translate foreign errors.

`kubernetes_api.py` and `answers.py` are the common ground of those that talk to the API server.
"""
