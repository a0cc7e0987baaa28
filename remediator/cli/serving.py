"""`remediator serve`: one gunicorn worker process with threads, the dispatcher inside it.

One worker, always: queues and locks of a second one would know nothing of the first's. Availability comes
from replicas. Everything that holds threads or connections is built in the worker, after the fork.
"""

import contextlib
import ctypes
import errno
import gc
import logging
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from gunicorn.app.base import BaseApplication

from remediator.cli.audit_flags import audit_flags
from remediator.cli.connections import connected, environment_name, settings_and_policy
from remediator.config import Settings
from remediator.config.dangers import dangers
from remediator.core.policy import Policy

if TYPE_CHECKING:
    from remediator.cli.composition import Composition

log = logging.getLogger(__name__)
_FILE = click.Path(path_type=Path)
_M_ARENA_MAX = -8
"""malloc.h."""


class Server(BaseApplication):
    """gunicorn around one composition."""

    def __init__(self, settings: Settings, build: "Callable[[], Composition]") -> None:
        """`build` is called in the worker process."""
        self._settings, self._build = settings, build
        self._composition: Composition | None = None
        super().__init__()

    def load_config(self) -> None:
        """Our settings as gunicorn's; its own environment (WEB_CONCURRENCY) is overruled."""
        host = f"[{self._settings.listen_host}]" if ":" in self._settings.listen_host else self._settings.listen_host
        values: dict[str, Any] = {
            "bind": f"{host}:{self._settings.listen_port}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": 16,
            "timeout": 60,
            "graceful_timeout": 25,
            "keepalive": 15,
            "worker_exit": lambda server, worker: self._stop(),
            "proc_name": "remediator",
            "control_socket_disable": True,
            "certfile": _text(self._settings.tls_cert_file),
            "keyfile": _text(self._settings.tls_key_file),
        }
        for name, value in values.items():
            # Older gunicorns do not know every one of them.
            if value is not None and name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Any:
        """Build and start everything, in the worker."""
        # Webhook threads must get their turn although passes compute: measured in a storm of 500 alerts a second
        # on 500 nodes, the answer's p99 falls to a tenth.
        sys.setswitchinterval(0.0005)
        _use_few_arenas()
        self._composition = self._build()
        self._composition.dispatcher.start()
        from remediator.web.app import create_app  # noqa: PLC0415 - see _built

        return create_app(self._composition.services)

    def _stop(self) -> None:
        """The worker ends: finish the steps in hand, hand over the leases."""
        if self._composition is not None:
            self._composition.stop()


@click.command()
@connected
@click.option(
    "--listen",
    envvar=environment_name("--listen"),
    default="127.0.0.1:8080",
    show_default=True,
    help="HOST:PORT to serve on.",
)
@click.option(
    "--audit-dir",
    envvar=environment_name("--audit-dir"),
    type=_FILE,
    default=Path("audit"),
    show_default=True,
    help="Directory of the audit files.",
)
@audit_flags
@click.option(
    "--peer",
    envvar=environment_name("--peer"),
    multiple=True,
    help="URL of another replica, whose audit is shown with ours; may be repeated.",
)
@click.option(
    "--webhook-token-file",
    envvar=environment_name("--webhook-token-file"),
    type=_FILE,
    help="Tokens (or user:password) that Alertmanager may use, one a line.",
)
@click.option(
    "--operator-tokens-file",
    envvar=environment_name("--operator-tokens-file"),
    type=_FILE,
    help="Operators, `name: token` a line.",
)
@click.option(
    "--tls-cert-file",
    envvar=environment_name("--tls-cert-file"),
    type=_FILE,
    help="Certificate to serve with.",
)
@click.option("--tls-key-file", envvar=environment_name("--tls-key-file"), type=_FILE, help="Its key.")
@click.option("--identity", envvar=environment_name("--identity"), default="", help="Our name in Leases [host-pid].")
@click.option(
    "--insecure",
    envvar=environment_name("--insecure"),
    is_flag=True,
    help="Serve the open network without a token.",
)
@click.option(
    "--log-level",
    envvar=environment_name("--log-level"),
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="Python log level.",
)
def serve(log_level: str, **flags: Any) -> None:
    """Receive alerts and act on nodes as the policy says (mode observe unless it says more)."""
    logging.basicConfig(level=log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings, policy = settings_and_policy(**flags)
    for sentence in dangers(policy):
        log.warning("policy: %s", sentence)
    _must_be_free(settings)
    _must_hold_the_audit(settings.audit_dir)
    log.info("mode %s, profile %s, speed %g, as %s", policy.mode, policy.profile, settings.speed, settings.identity)
    gc.collect()
    gc.freeze()
    Server(settings, lambda: _built(settings, policy)).run()


def _built(settings: Settings, policy: Policy) -> "Composition":
    """Imported in the worker only: the parent, which does nothing but wait, keeps no copy (a sixth of our memory)."""
    from remediator.cli.composition import compose  # noqa: PLC0415

    return compose(settings, policy)


def _must_be_free(settings: Settings) -> None:
    """Told in one sentence before gunicorn tries five times."""
    family = socket.AF_INET6 if ":" in settings.listen_host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.listen_host, settings.listen_port))
        except OSError as error:
            where = f"{settings.listen_host}:{settings.listen_port}"
            hint = "; stop what listens there or choose another --listen" if error.errno == errno.EADDRINUSE else ""
            raise click.ClickException(f"cannot listen on {where}: {error.strerror}{hint}") from error


def _must_hold_the_audit(directory: Path) -> None:
    """Without its audit nothing is ever done: better told at start than in the night."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise click.ClickException(
            f"--audit-dir {directory} cannot be written: {error.strerror}; name a directory that we may write to"
        ) from error


def _use_few_arenas() -> None:
    """glibc keeps a heap for every few threads, each as large as its largest list of pods was: two are enough."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
