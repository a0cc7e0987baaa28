"""Settings of a running server: where things are, who it is, how it listens. Decisions are the policy's.

Given by flags or the `REMEDIATOR_*` environment; the cli reads both. Checked here, together, each problem
under the name of the flag that mends it.
"""

import ipaddress
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from remediator.config.elasticsearch import Elasticsearch
from remediator.config.problems import ConfigError, Problem
from remediator.config.quantities import duration_seconds
from remediator.config.reading import read_text

_INTERVALS = {"--scrape-interval": "scrape_seconds", "--cadvisor-interval": "cadvisor_scrape_seconds"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything `serve`, `explain` and `status` need besides the policy."""

    prometheus_url: str
    alertmanager_urls: tuple[str, ...]
    config: Path | None = None
    kubeconfig: Path | None = None
    """None: the service account of the pod."""
    listen_host: str = "127.0.0.1"
    listen_port: int = 8080
    audit_dir: Path = Path("audit")
    peers: tuple[str, ...] = ()
    """URLs of the other replicas, whose audits are read with ours; our own may be among them."""
    webhook_token_file: Path | None = None
    operator_tokens_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    speed: float = 1.0
    identity: str = ""
    namespace: str = "remediator"
    insecure: bool = False
    scrape_seconds: float = 5.0
    """How often Prometheus scrapes our exporter."""
    cadvisor_scrape_seconds: float = 15.0
    prometheus_header_file: Path | None = None
    """`Name: value` lines that go along with every question: a tenant, a token."""
    audit_stdout: bool = False
    elasticsearch: Elasticsearch = field(default_factory=Elasticsearch)

    @classmethod
    def from_flags(cls, *, prometheus: str, alertmanager: str, listen: str, **rest: Any) -> Self:
        """Settings from flag values as written; ConfigError with every problem, by flag name.

        `alertmanager` is a comma-separated list of URLs, `listen` is HOST:PORT; the rest are field names.
        """
        problems: list[Problem] = []
        host, port = _endpoint(listen, problems)
        for flag, name in _INTERVALS.items():
            if (interval := rest.pop(flag[2:].replace("-", "_"), None)) is not None:
                rest[name] = _interval(flag, interval, problems)
        rest["peers"] = tuple(_url("--peer", each, problems) for each in rest.pop("peer", None) or ())
        rest["elasticsearch"] = Elasticsearch.taken_from(rest)
        found = cls(
            prometheus_url=_url("--prometheus", prometheus, problems),
            alertmanager_urls=tuple(_url("--alertmanager", each, problems) for each in alertmanager.split(",")),
            listen_host=host,
            listen_port=port,
            **{name: value for name, value in rest.items() if value is not None},
        )
        problems += found._problems()
        if problems:
            raise ConfigError("flags", problems)
        return found if found.identity else replace(found, identity=_own_name())

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.listen_host)

    def is_us(self, url: str) -> bool:
        """Whether a peer's URL names ourselves: a StatefulSet's pods have their identity as first label."""
        return (urlsplit(url).hostname or "").partition(".")[0] == self.identity.lower()

    def _problems(self) -> Iterator[Problem]:
        if self.speed <= 0:
            yield Problem("--speed", f"must be above 0, not {self.speed:g} (1 in production)")
        if not self.namespace:
            yield Problem("--namespace", "must name the namespace in which the remediator keeps its Leases")
        yield from self._missing_files()
        yield from self._bad_headers()
        yield from self.elasticsearch.problems(self.identity)
        if bool(self.tls_cert_file) != bool(self.tls_key_file):
            yield Problem("--tls-cert-file", "and --tls-key-file go together: give both or neither")
        if not (self.loopback or self.insecure or self.webhook_token_file):
            yield Problem(
                "--listen",
                f"{self.listen_host} can be reached from other machines, and there is no "
                "--webhook-token-file: give one, listen on 127.0.0.1, or say --insecure",
            )

    def _bad_headers(self) -> Iterator[Problem]:
        try:
            header_lines(self.prometheus_header_file)
        except ConfigError as refused:
            yield from (
                Problem(_flag("prometheus_header_file"), problem.located(refused.source))
                for problem in refused.problems
            )

    def _missing_files(self) -> Iterator[Problem]:
        for name in (
            "config",
            "prometheus_header_file",
            "kubeconfig",
            "webhook_token_file",
            "operator_tokens_file",
            "tls_cert_file",
            "tls_key_file",
        ):
            path = getattr(self, name)
            if path is not None and not (path.is_file() and os.access(path, os.R_OK)):
                yield Problem(_flag(name), f"{path} is not a file that can be read")


def _interval(flag: str, given: str, problems: list[Problem]) -> float:
    """`30s` -> 30.0."""
    try:
        seconds = duration_seconds(float(given) if given.replace(".", "", 1).isdigit() else given)
    except ValueError as error:
        problems.append(Problem(flag, str(error)))
        return 1.0
    if seconds <= 0:
        problems.append(Problem(flag, "must be above 0"))
    return seconds


def header_lines(path: Path | None) -> dict[str, str]:
    """Headers of a file of `Name: value` lines; ConfigError names the line that is none, never its content."""
    if path is None:
        return {}
    headers: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        name, colon, value = line.partition(":")
        if line.strip() and not line.startswith("#"):
            if not colon or not name.strip() or not value.strip() or " " in name.strip():
                raise ConfigError(str(path), [Problem("", "is no header: write `Name: value`", number)])
            headers[name.strip()] = value.strip()
    return headers


def is_loopback(host: str) -> bool:
    """True for `localhost` and loopback addresses of both families."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _own_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _url(flag: str, text: str, problems: list[Problem]) -> str:
    text = text.strip()
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        problems.append(Problem(flag, f"{text!r} is not a URL like http://prometheus.monitoring:9090"))
    return text.rstrip("/")


def _endpoint(text: str, problems: list[Problem]) -> tuple[str, int]:
    """HOST:PORT, `[::1]:8080` included; port 0 lets the system choose."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535:
        problems.append(Problem("--listen", f"{text!r} is not HOST:PORT, for example 127.0.0.1:8080 or [::]:8080"))
        return "127.0.0.1", 0
    return host.strip("[]") or "0.0.0.0", int(port)
