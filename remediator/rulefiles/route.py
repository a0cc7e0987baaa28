"""Alertmanager's part: the receiver, the route and the inhibitions of `rules/alertmanager/route.yaml`, rendered.

The file there is a whole configuration that Alertmanager (>= 0.25) accepts; only its address, token and durations
are changed here.
"""

from importlib import resources
from typing import Any

import yaml

from remediator.rulefiles.durations import format_ms, parse_ms

_TIMERS = ("group_wait", "group_interval", "repeat_interval")


def alertmanager_config(
    webhook_url: str,
    time_scale: float = 1.0,
    credentials_file: str | None = None,
    more_webhook_urls: tuple[str, ...] = (),
    max_alerts: int = 0,
) -> str:
    """YAML text of an Alertmanager configuration that calls `webhook_url` (the whole URL of `/api/v1/alerts`).

    `credentials_file` holds the bearer token; None sends none (a receiver on loopback). `more_webhook_urls` are told
    the same. `max_alerts` 0 is no limit.
    """
    root = resources.files("remediator.rulefiles") / "shipped" / "alertmanager" / "route.yaml"
    config: dict[str, Any] = yaml.safe_load(root.read_text(encoding="utf-8"))
    _scale(config["route"], time_scale)
    receiver = next(item for item in config["receivers"] if item["name"] == "remediator")
    shipped = receiver["webhook_configs"][0]
    http = {key: value for key, value in shipped["http_config"].items() if key != "authorization"}
    if credentials_file is not None:
        http["authorization"] = {"type": "Bearer", "credentials_file": credentials_file}
    receiver["webhook_configs"] = [
        shipped | {"url": url, "max_alerts": max_alerts, "http_config": http}
        for url in (webhook_url, *more_webhook_urls)
    ]
    text: str = yaml.dump(config, Dumper=_Dumper, sort_keys=False, width=1000)
    return text


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _scale(route: dict[str, Any], time_scale: float) -> None:
    for timer in _TIMERS:
        if timer in route and time_scale != 1:
            route[timer] = format_ms(parse_ms(route[timer]) / time_scale)
    for child in route.get("routes", []):
        _scale(child, time_scale)
