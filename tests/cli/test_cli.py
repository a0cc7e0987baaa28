"""The command line: lazy commands, exit codes, and errors that say what to do."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import requests
from click.testing import CliRunner, Result

from remediator.cli import COMMANDS, cli
from remediator.cli.connections import environment_name

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, **environment: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(cli, arguments, env=environment)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A policy file."""
    path = tmp_path / "policy.yaml"
    path.write_text("mode: observe\n")
    return path


def test_help_lists_what_is_installed() -> None:
    """The commands stand in the help with a sentence each."""
    result = run("--help")
    assert result.exit_code == 0
    for name in ("serve", "explain", "status", "release", "check-config"):
        assert f"  {name}  " in result.output


def test_an_unknown_command_is_wrong_use() -> None:
    """Exit code 2."""
    assert run("srve").exit_code == 2


def test_the_exporter_starts_without_the_rest() -> None:
    """Its forwarder imports neither the web nor the cluster client nor pydantic."""
    script = (
        "import sys, remediator.cli.forwarding\n"
        "heavy = {'flask', 'kubernetes', 'pydantic', 'prometheus_api_client', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_the_exporters_arguments_are_handed_on_untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, --help included, are the exporter's own; its exit code is ours."""
    seen: list[list[str]] = []

    class Exporter:
        """Stands in for remediator.exporter.main."""

        @staticmethod
        def main(argv: list[str]) -> int:
            """Keep them."""
            seen.append(argv)
            return 3

    monkeypatch.setitem(sys.modules, "remediator.exporter.main", Exporter)
    result = run("exporter", "--listen", "127.0.0.1:0", "--help")
    assert (seen, result.exit_code) == ([["--listen", "127.0.0.1:0", "--help"]], 3)


def test_a_part_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calling it says what is missing; the help leaves it out."""
    monkeypatch.setitem(COMMANDS, "drill", "remediator.no_such_part:drill")
    result = run("drill")
    assert result.exit_code == 1
    assert "pip install 'remediator[drill]'" in result.output
    assert "\n  drill " not in run("--help").output


def test_check_config_accepts_a_good_file(policy: Path) -> None:
    """Exit 0 and the policy in force."""
    result = run("check-config", str(policy))
    assert result.exit_code == 0
    assert "valid" in result.output and "node_cooldown_seconds: 600" in result.output


def test_check_config_tells_every_error_with_its_line(policy: Path) -> None:
    """Exit 1, path and line."""
    policy.write_text("mod: observe\ncaps:\n  nodes_actin: 1\n")
    result = run("check-config", str(policy))
    assert result.exit_code == 1
    assert f"{policy}:1: mod: unknown key; did you mean mode?" in result.output
    assert f"{policy}:3: caps.nodes_actin: unknown key; did you mean nodes_acting?" in result.output
    assert "2 errors" in result.output


def test_check_config_warns_of_what_is_legal_and_dangerous(policy: Path) -> None:
    """A warning is no error: exit 0."""
    policy.write_text("undeclared: standard\n")
    result = run("check-config", str(policy))
    assert result.exit_code == 0
    assert "warning: undeclared: standard" in result.output


def test_check_config_speaks_json(policy: Path) -> None:
    """Errors, warnings and policy for machines."""
    told = json.loads(run("check-config", str(policy), "--output", "json").output)
    assert told["errors"] == [] and told["policy"]["ladder"]["red"]["max_rounds"] == 3
    policy.write_text("mod: x\n")
    assert json.loads(run("check-config", str(policy), "--output", "json").output)["errors"][0]["line"] == 1


def test_check_config_prints_the_schema() -> None:
    """For editors."""
    assert json.loads(run("check-config", "--schema").output)["title"] == "PolicyFile"


def test_check_config_needs_a_file() -> None:
    """Wrong use is exit 2 and says how it is used."""
    result = run("check-config")
    assert result.exit_code == 2
    assert "remediator check-config FILE" in result.output


GOOD = ("serve", "--prometheus", "http://127.0.0.1:1", "--alertmanager", "http://127.0.0.1:1")


def test_serve_needs_prometheus_and_alertmanager() -> None:
    """A missing flag is wrong use and names its environment variable too."""
    result = run("serve")
    assert result.exit_code == 2
    assert "--prometheus" in result.output
    assert "REMEDIATOR_PROMETHEUS" in run("serve", "--help").output


def test_serve_refuses_bad_flags_by_name() -> None:
    """All of them at once."""
    result = run(*GOOD, "--listen", "0.0.0.0:8080", "--speed", "0")
    assert result.exit_code == 1
    assert "--listen" in result.output and "--speed" in result.output


def test_serve_reads_the_environment(policy: Path) -> None:
    """REMEDIATOR_<FLAG> is as good as the flag."""
    policy.write_text("alerts: []\n")
    result = run("serve", REMEDIATOR_PROMETHEUS="http://p:1", REMEDIATOR_ALERTMANAGER="x", REMEDIATOR_CONFIG="none")
    assert result.exit_code == 1
    assert "--alertmanager: 'x' is not a URL" in result.output
    assert "--config: none is not a file" in result.output


def test_f06_serve_refuses_to_start_with_an_empty_selector(policy: Path) -> None:
    """F06: an empty alert list or node selector never becomes everything."""
    policy.write_text("alerts: []\nmodes: [{nodeSelector: {}, mode: enforce}]\n")
    result = run(*GOOD, "--config", str(policy))
    assert result.exit_code == 1
    assert "policy.yaml:1: alerts" in result.output
    assert "policy.yaml:2: modes[0].nodeSelector" in result.output


def test_serve_says_when_the_port_is_taken(policy: Path) -> None:
    """One sentence, with the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run(*GOOD, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert result.exit_code == 1
    assert "choose another --listen" in result.output


@pytest.mark.parametrize("command", [("status",), ("release", "n1")])
def test_a_server_that_is_not_there_is_told(command: tuple[str, ...]) -> None:
    """The hint says how to name the right one."""
    result = run(*command, "--server", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert "REMEDIATOR_SERVER" in result.output


class Answer:
    """What requests would return."""

    def __init__(self, status_code: int, content: Any) -> None:
        self.status_code, self.content, self.text = status_code, content, str(content)

    def json(self) -> Any:
        """The decoded body."""
        return self.content

    def raise_for_status(self) -> None:
        """Nothing to raise."""


ROW = {
    "node": "n1",
    "level": "RED",
    "phase": "ACTING",
    "mode": "enforce",
    "isolation": "CORDONED_BY_US",
    "evicted": 3,
    "freed_bytes": 22 * 2**30,
    "cooldown_seconds": 60,
    "message": "3 pods evicted",
}


def test_status_shows_the_servers_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table for people, JSON for machines."""
    monkeypatch.setattr(requests, "get", lambda url, timeout: Answer(200, {"nodes": [ROW]}))
    table = run("status", COLUMNS="200").output
    assert all(word in table for word in ("n1", "RED", "CORDONED_BY_US", "22,528Mi", "3 pods evicted"))
    assert json.loads(run("status", "--output", "json").output) == [ROW]
    monkeypatch.setattr(requests, "get", lambda url, timeout: Answer(200, {"nodes": []}))
    assert "No node is known" in run("status").output


def test_release_speaks_in_the_operators_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The token goes into the header and nowhere else."""
    sent: list[Any] = []

    def post(url: str, json: Any, headers: Any, timeout: int) -> Answer:
        sent.append((url, headers))
        return Answer(202, {"operator": "ann"})

    monkeypatch.setattr(requests, "post", post)
    token = tmp_path / "token"
    token.write_text("a1\n")
    result = run("release", "n1", "--server", "http://r:1/", "--operator-token-file", str(token))
    assert result.exit_code == 0
    assert sent == [("http://r:1/api/v1/nodes/n1/release", {"Authorization": "Bearer a1"})]
    assert "ann" in result.output and "a1" not in result.output


def test_a_refused_release_says_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own words, and the flag that is missing."""
    monkeypatch.setattr(requests, "post", lambda *a, **k: Answer(401, {"error": "a named operator's token is needed"}))
    result = run("release", "n1")
    assert result.exit_code == 1
    assert "operator's token" in result.output and "--operator-token-file" in result.output


def test_environment_names_follow_the_flags() -> None:
    """--audit-dir is REMEDIATOR_AUDIT_DIR."""
    assert environment_name("--audit-dir") == "REMEDIATOR_AUDIT_DIR"


def test_every_command_is_a_click_command() -> None:
    """What is installed can be called."""
    context = click.Context(cli)
    for name in ("serve", "exporter", "explain", "status", "release", "check-config"):
        assert isinstance(cli.get_command(context, name), click.Command)


def test_an_unknown_log_level_is_wrong_use() -> None:
    """Exit code 2, with the levels there are."""
    result = run("serve", "--prometheus", "http://p", "--alertmanager", "http://a", "--log-level", "loud")
    assert result.exit_code == 2
    assert "warning" in result.output.lower()


def test_rules_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    """Exit code 2 and the option to change, not a traceback."""
    (tmp_path / "file").write_text("")
    result = run("rules", "--output-dir", str(tmp_path / "file" / "below"))
    assert result.exit_code == 2
    assert "--output-dir" in result.output
