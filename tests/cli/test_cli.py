"""The command line: lazy commands, exit codes, and errors that say what to do."""

import json
import os
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
    "used_ratio": 0.93,
    "mode": "enforce",
    "isolation": "CORDONED_BY_US",
    "evicted": 3,
    "freed_bytes": 22 * 2**30,
    "cooldown_seconds": 60,
    "message": "3 pods evicted",
}


ACTION = {
    "kind": "evict",
    "namespace": "batch",
    "pod": "spark-executor-1",
    "workload": None,
    "tier": "offline",
    "expected_bytes": 9 * 2**30,
    "score": 94.3,
}
PLAN = {
    "id": "0123456789",
    "node": "n1",
    "level": "RED",
    "status": "waiting",
    "answered_by": None,
    "expires_in_seconds": 500,
    "actions": [ACTION],
}
SILENCE = {"id": "s", "created_by": "ann", "comment": "upgrade", "ends_at": "12:00", "matchers": ['ns="payments"']}
SILENCES = {"active": [SILENCE], "unknown": None}


def serve(monkeypatch: pytest.MonkeyPatch, **told: Any) -> None:
    """A server that answers GETs by their last word."""

    def request(method: str, url: str, **options: Any) -> Answer:
        name = url.rsplit("/", 1)[1]
        return Answer(200, {"config": {"problems": ["mode: typo"]}, name: told[name]})

    monkeypatch.setattr(requests, "request", request)


def speak(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[tuple[str, Any]]:
    """A server that answers every POST the same; (URL, headers) of what came."""
    sent: list[tuple[str, Any]] = []

    def request(method: str, url: str, **options: Any) -> Answer:
        assert method == "POST"
        sent.append((url, options["headers"]))
        return answer

    monkeypatch.setattr(requests, "request", request)
    return sent


def test_status_shows_the_servers_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table for people, JSON for machines."""
    serve(monkeypatch, nodes=[ROW], plans=[PLAN], silences=SILENCES)
    assert json.loads(run("status", "--output", "json").output)["nodes"] == [ROW]
    serve(monkeypatch, nodes=[], plans=[], silences={"active": [], "unknown": "no peer answers"})
    told = run("status").output
    assert "policy refused" in told and "mode: typo" in told
    assert "No node is known" in told and "no peer answers" in told


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_status_shows_whole_figures_at_any_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    """Figures, names and what to type next are never cut."""
    serve(monkeypatch, nodes=[ROW], plans=[PLAN], silences=SILENCES)
    told = run("status", COLUMNS=columns).output
    words = ("RED", "CORDONED_BY_US", "22.0Gi", "3 pods evicted", "93 %", "approve 0123456789", "9.0Gi", "payments")
    assert [word for word in words if word not in told] == []


def test_plans_show_who_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, also those that run; none is told too."""
    serve(monkeypatch, plans=[{**PLAN, "status": "running", "answered_by": "ann"}])
    assert "running (ann)" in run("plans").output
    assert json.loads(run("plans", "--output", "json").output)[0]["answered_by"] == "ann"
    serve(monkeypatch, plans=[])
    assert "No plan waits" in run("plans").output


WORDS = {
    ("mode", "n1", "observe"): "nodes/n1/mode",
    ("mode", "n1", "configured"): "nodes/n1/mode",
    ("approve", "0123456789"): "plans/0123456789/approve",
    ("reject", "0123456789"): "plans/0123456789/reject",
    ("pause", "n1"): "nodes/n1/pause",
    ("resume", "n1"): "nodes/n1/resume",
    ("release", "n1"): "nodes/n1/release",
    ("approve", "../nodes/n1"): "plans/..%2Fnodes%2Fn1/approve",
}


@pytest.mark.parametrize("command", WORDS)
def test_an_operators_words_go_to_their_route(monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    """Each command is one POST; --output json prints the server's answer."""
    told = {"plan": "0123456789", "node": "n1", "operator": "ann"}
    sent = speak(monkeypatch, Answer(202, told))
    assert json.loads(run(*command, "--server", "http://r:1", "--output", "json").output) == told
    assert "ann" in run(*command, "--server", "http://r:1").output
    assert [url for url, _ in sent] == [f"http://r:1/api/v1/{WORDS[command]}"] * 2


def test_release_speaks_in_the_operators_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The token goes into the header and nowhere else."""
    sent = speak(monkeypatch, Answer(202, {"operator": "ann", "node": "n1"}))
    token = tmp_path / "token"
    token.write_text("a1\n")
    result = run("release", "n1", "--server", "http://r:1/", "--operator-token-file", str(token))
    assert result.exit_code == 0
    assert sent == [("http://r:1/api/v1/nodes/n1/release", {"Authorization": "Bearer a1"})]
    assert "ann" in result.output and "a1" not in result.output


def test_a_refused_release_says_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's own words, and the flag that is missing."""
    speak(monkeypatch, Answer(401, {"error": "a named operator's token is needed"}))
    result = run("release", "n1")
    assert result.exit_code == 1
    assert "operator's token" in result.output and "--token-file" in result.output


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


@pytest.mark.parametrize("content", ["ann: a1\n", "a 1", "é", ""])
def test_a_token_file_that_holds_no_token_is_told(content: str, tmp_path: Path) -> None:
    """The server's own `name: token` file is the usual mistake; nothing is sent."""
    (tmp_path / "token").write_text(content)
    result = run("approve", "0123456789", "--token-file", str(tmp_path / "token"))
    assert result.exit_code == 1
    assert "--token-file" in result.output


def test_the_shell_completes_commands_and_flags() -> None:
    """`_REMEDIATOR_COMPLETE` gives a script, and that script's questions are answered."""
    command = [sys.executable, "-c", "import remediator.cli as c; c.cli.main(prog_name='remediator')"]

    def complete(how: str, words: str = "", index: str = "0") -> str:
        asked = {"_REMEDIATOR_COMPLETE": how, "COMP_WORDS": words, "COMP_CWORD": index}
        return subprocess.run(
            command, check=False, env={**os.environ, **asked}, capture_output=True, text=True, cwd=ROOT
        ).stdout

    assert "_REMEDIATOR_COMPLETE=zsh_complete" in complete("zsh_source")
    assert complete("bash_complete", "remediator ap", "1").split() == ["plain,approve"]
    assert "plain,--token-file" in complete("bash_complete", "remediator approve --to", "2").split()
