"""Generated pages are fresh; what Helm prints and what Prometheus is to load exists. All pages: tests/docs."""

import re
import subprocess
from pathlib import Path

import yaml

from remediator.cli import COMMANDS
from scripts.flags_page import flags_page
from scripts.policy_page import policy_page
from scripts.reference import FLAGS, METRICS, POLICY, SECURITY, metrics_page, security_page
from tests.chart.conftest import CHART, ROOT
from tests.rules.conftest import find_tool

NOTES = CHART / "templates" / "NOTES.txt"


def test_generated_pages_are_fresh() -> None:
    """The pages on metrics, the policy and flags, and the table of rights, say what the code holds (`make docs`)."""
    assert METRICS.read_text() == metrics_page()
    assert POLICY.read_text() == policy_page()
    assert FLAGS.read_text() == flags_page()
    assert SECURITY.read_text() == security_page(SECURITY.read_text())


def test_commands_of_the_notes_exist() -> None:
    """Each `remediator COMMAND` of the notes after an install is one that the program has; pages: tests/docs."""
    names = re.findall(r"-- remediator ([a-z-]+)|`remediator ([a-z-]+)`", NOTES.read_text())
    assert len(names) > 2
    assert {first or second for first, second in names} <= set(COMMANDS)


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
