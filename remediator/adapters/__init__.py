"""One outside system each. Adapters never import one another, decide nothing, and translate foreign errors.

Common ground, below them: `errors.py` and `kubernetes_api.py` for those that talk to the API server, `calls.py` for
those that ask over plain HTTP. The rest reads objects into facts (`pod_facts.py`, `surroundings.py`, `pod_usage.py`),
answers into results (`answers.py`) and actions into patches (`patches.py`): pure, and tested without a server.
"""
