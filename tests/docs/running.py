"""Commands of the pages that their own programs do not parse here: known shapes, and those that no test runs, and why.

`remediator`, `make`, `helm` and `python` lines are parsed by their own programs in test_pages.py.
"""

import re

KNOWN = tuple(
    re.compile(pattern)
    for pattern in (
        r"^kubectl (-n \S+ )?(get|patch|apply|create) ",
        r"^amtool silence ",
        r"^promtool check rules ",
    )
)
NOT_RUN = {
    re.compile(pattern): why
    for pattern, why in {
        r"^apt-get install": "run by `make fresh-machine` (root) on a minimal Debian, not by `make test`",
        r"^docker build": "no container engine where the tests run; the Dockerfile is linted, its build step is run",
        r"^helm upgrade": "needs a release in a cluster; flags are checked, every variant is rendered and validated",
        r"^helm uninstall": "needs a release in a cluster; flags are checked",
        r"^kubectl -n memory rollout status": "the simulated cluster runs no StatefulSet of ours",
        r"^kubectl -n memory exec": "the simulated cluster runs no containers; what stands after `--` is run by itself",
        r"^kubectl -n monitoring get prometheus": "no Prometheus operator in the simulated cluster",
        r"^kubectl drain": "a part of a sentence",
        r"^kubectl port-forward": "a part of a sentence; the simulated cluster runs no containers",
        r"^eval": "changes the shell that reads it",
        r"^source": "changes the shell that reads it",
    }.items()
}
