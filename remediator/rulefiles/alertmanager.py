"""Alertmanager's part, from rules/alertmanager/route.yaml: as a snippet to merge, or as a whole small configuration."""

from typing import Any

import yaml

from remediator.rulefiles.pace import scaled_duration
from remediator.rulefiles.rendering import rules_directory

_TIMERS = ("group_wait", "group_interval", "repeat_interval")
_NOBODY = "nobody"


def alertmanager_config(
    webhook_url: str,
    time_scale: float = 1.0,
    credentials_file: str | None = None,
    more_webhook_urls: tuple[str, ...] = (),
) -> str:
    """A whole configuration: the shipped route below a root that tells nobody else.

    Without `credentials_file` the webhook is called without a token (loopback only).
    """
    shipped = yaml.safe_load((rules_directory() / "alertmanager" / "route.yaml").read_text(encoding="utf-8"))
    receiver = shipped["receivers"][0]
    hook = receiver["webhook_configs"][0]
    hooks = [_addressed(hook, url, credentials_file) for url in (webhook_url, *more_webhook_urls)]
    routes = [_paced(route, time_scale) for route in shipped["route"]["routes"]]
    document = {
        "global": {"resolve_timeout": scaled_duration("5m", time_scale)},
        "receivers": [{"name": _NOBODY}, {**receiver, "webhook_configs": hooks}],
        "route": {"receiver": _NOBODY, **_paced(_ROOT, time_scale), "routes": routes},
        "inhibit_rules": shipped["inhibit_rules"],
    }
    text: str = yaml.safe_dump(document, sort_keys=False, width=200)
    return text


_ROOT: dict[str, Any] = {"group_wait": "1s", "group_interval": "10s", "repeat_interval": "1m"}


def _addressed(hook: dict[str, Any], url: str, credentials_file: str | None) -> dict[str, Any]:
    http: dict[str, Any] = {"follow_redirects": False}
    if credentials_file is not None:
        http["authorization"] = {"type": "Bearer", "credentials_file": credentials_file}
    return {**hook, "url": url, "http_config": http}


def _paced(route: dict[str, Any], scale: float) -> dict[str, Any]:
    return {**route, **{key: scaled_duration(route[key], scale) for key in _TIMERS if key in route}}
