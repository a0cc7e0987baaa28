"""The pages on installing: generated parts are fresh, and every command in them is one that exists."""

import re
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from remediator.cli import cli
from remediator.config import load_policy
from scripts.flags_page import flags_page
from scripts.policy_page import policy_page
from scripts.reference import FLAGS, METRICS, POLICY, SECURITY, metrics_page, security_page
from tests.chart.conftest import CHART, ROOT
from tests.rules.conftest import find_tool

PAGES = [ROOT / "docs" / name for name in ("install.md", "rollout.md", "security.md")] + [
    CHART / "templates" / "NOTES.txt"
]


def test_generated_pages_are_fresh() -> None:
    """The pages on metrics, the policy and flags, and the table of rights, say what the code holds (`make docs`)."""
    assert METRICS.read_text() == metrics_page()
    assert POLICY.read_text() == policy_page()
    assert FLAGS.read_text() == flags_page()
    assert SECURITY.read_text() == security_page(SECURITY.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    """Each `remediator COMMAND --flag` of the page is one that the program has."""
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    lines = [
        *re.findall(r"`remediator ([a-z][^`]*)`", text),
        *re.findall(r"^\s*(?:kubectl .* -- )?remediator ([a-z][^#\n]*)", text, re.MULTILINE),
    ]
    for line in lines:
        name, *words = line.split()
        if name == "is":  # the first line of the notes is a sentence
            continue
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        flags = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert name == "exporter" or flags <= known, line
    assert lines


def test_policies_in_the_pages_are_valid(tmp_path: Path) -> None:
    """Every YAML of rollout.md is a policy that is accepted."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "rollout.md").read_text(), re.DOTALL)
    assert len(blocks) == 1
    for block in blocks:
        file = tmp_path / "policy.yaml"
        file.write_text(block)
        assert load_policy(file)


def test_scrape_jobs_are_accepted(tmp_path: Path) -> None:
    """promtool accepts the scrape jobs for a plain Prometheus, under the names that the rules ask for."""
    (block,) = re.findall(r"```yaml\n(scrape_configs.*?)```", (ROOT / "docs" / "install.md").read_text(), re.DOTALL)
    config = yaml.safe_load(block)
    assert {"remediator", "memory-exporter"} <= {job["job_name"] for job in config["scrape_configs"]}
    for job in config["scrape_configs"]:
        # Debian's Prometheus is built without this discovery.
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod", "namespaces": {"names": ["memory"]}}]
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    command = [find_tool("promtool"), "check", "config", "--syntax-only", file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_in_the_pages_exist() -> None:
    """Files and links that the pages name are there."""
    for page in PAGES[:3]:
        text = page.read_text()
        named = re.findall(r"(helm/remediator/[\w./-]+)", text) + [
            f"docs/{link}" for link in re.findall(r"\]\(([\w./-]+)\)", text)
        ]
        assert [name for name in named if not (ROOT / name.rstrip(".")).resolve().exists()] == [], page


def test_every_value_in_the_pages_is_known() -> None:
    """`--set` and prose name values that values.yaml has."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for page in PAGES[:3]:
        for path in re.findall(
            r"(?:--set(?:-file)? |`)([a-z][A-Za-z]+(?:\.[a-zA-Z]+)+)(?:=\S+)?[` \n]", page.read_text()
        ):
            if path.split(".")[0] not in values:
                continue
            found = values
            for step in path.split("."):
                assert step in found, f"{page.name}: {path}"
                found = found[step]
