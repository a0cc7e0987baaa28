"""A Kubernetes API server, simulated: the part that the product, kubectl and the official client use.

Objects live in memory as plain JSON dicts; answers (statuses, conflicts, messages) are those of a real
server, held by captures in tests/drill/apiserver/captures. It must not know the product, nor simulate what nodes and
controllers do (that is `remediator.drill.simulation`): whatever works here must work on a real server.
"""
