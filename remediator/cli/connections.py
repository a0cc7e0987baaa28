"""Flags that several commands share: Prometheus, Alertmanager, the cluster, and the policy in force."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from remediator.config import ConfigError, Settings, load_policy
from remediator.core.policy import Policy

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path)
_FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--config", {"type": _FILE, "help": "Policy file (none: the shipped policy, mode observe)."}),
    ("--prometheus", {"required": True, "help": "URL of Prometheus."}),
    (
        "--prometheus-header-file",
        {"type": _FILE, "help": "`Name: value` lines sent with every question (tenant, token)."},
    ),
    (
        "--scrape-interval",
        {"default": "5s", "show_default": True, "help": "How often our exporter is scraped, as in `rules`."},
    ),
    (
        "--cadvisor-interval",
        {"default": "15s", "show_default": True, "help": "How often the kubelet's cAdvisor is scraped."},
    ),
    ("--alertmanager", {"required": True, "help": "URLs of all Alertmanager peers, comma-separated."}),
    (
        "--kubeconfig",
        {"type": _FILE, "help": "Kubeconfig file (none: the pod's service account, else as kubectl finds it)."},
    ),
    (
        "--namespace",
        {"default": "remediator", "show_default": True, "help": "Namespace that holds our Leases."},
    ),
    (
        "--speed",
        {"type": float, "default": 1.0, "show_default": True, "help": "Drills only: divides our durations."},
    ),
)


def connected(command: _Command) -> _Command:
    """Add the shared flags, each also readable from REMEDIATOR_<NAME>."""
    return _with_flags(command, {})


def connectable(command: _Command) -> _Command:
    """The shared flags for a command that can also do without any outside system."""
    return _with_flags(command, {"required": False})


def _with_flags(command: _Command, instead: Mapping[str, Any]) -> _Command:
    for name, shared in reversed(_FLAGS):
        attributes = {**shared, **instead}
        command = click.option(name, envvar=environment_name(name), show_envvar=True, **attributes)(command)
    return command


def environment_name(flag: str) -> str:
    """`--audit-dir` -> `REMEDIATOR_AUDIT_DIR`."""
    return "REMEDIATOR_" + flag.removeprefix("--").replace("-", "_").upper()


def settings_and_policy(**flags: Any) -> tuple[Settings, Policy]:
    """Checked settings and the policy as written; a ClickException that names every flag and line to mend."""
    try:
        settings = Settings.from_flags(**{"listen": "127.0.0.1:0", **flags})
        policy = load_policy(settings.config) if settings.config else Policy()
    except ConfigError as refused:
        raise click.ClickException(f"cannot start:\n{refused}") from refused
    return settings, policy
