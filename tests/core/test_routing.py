"""Who is told what."""

import pytest

from remediator.core.routing import NotificationTarget, addressed
from remediator.core.state import Notice

NODE = Notice("level:RED", "critical", "Node n1 is RED", "")
HINT = Notice("level:YELLOW", "info", "Node n1 is YELLOW", "")
LIMIT = Notice("outcome:limit-oom:shop/Deployment/web", "warning", "web", "", "developers", "shop")


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        (NotificationTarget("ops"), [NODE, HINT]),
        (NotificationTarget("pager", severities=("critical",)), [NODE]),
        (NotificationTarget("shop", audience="developers", namespaces=("shop",)), [LIMIT]),
        (NotificationTarget("shops", audience="developers", namespaces=("sh*",)), [LIMIT]),
        (NotificationTarget("data", audience="developers", namespaces=("data",)), []),
        (NotificationTarget("all", audience="all"), [NODE, HINT, LIMIT]),
        (NotificationTarget("all-of-data", audience="all", namespaces=("data",)), [NODE, HINT]),
    ],
)
def test_severity_audience_and_namespace_decide(target: NotificationTarget, wanted: list[Notice]) -> None:
    """Operators get nodes, developers what only they can mend, of their namespaces."""
    assert [notice for notice in (NODE, HINT, LIMIT) if addressed(notice, [target])] == wanted
