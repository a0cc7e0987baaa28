"""`remediator check-config FILE`: every error with its line, every danger, and the policy in effect."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from remediator.config import ConfigError, json_schema, load_policy
from remediator.config.dangers import dangers
from remediator.config.plain import plain


@click.command("check-config")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How to print.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of policy files and exit.")
def check_config(file: Path | None, output: str, schema: bool) -> None:
    """Check a policy FILE: errors (exit 1), warnings, and the effective policy."""
    if schema:
        click.echo(json.dumps(json_schema(), indent=2))
        return
    if file is None:
        raise click.UsageError("name the policy file: remediator check-config FILE")
    report = _report(file)
    click.echo(json.dumps(report, indent=2) if output == "json" else _text(file, report))
    raise SystemExit(1 if report["errors"] else 0)


def _report(file: Path) -> dict[str, Any]:
    try:
        policy = load_policy(file)
    except ConfigError as refused:
        errors = [dataclasses.asdict(problem) for problem in refused.problems]
        return {"errors": errors, "text": str(refused), "warnings": [], "policy": None}
    return {"errors": [], "text": "", "warnings": list(dangers(policy)), "policy": plain(policy)}


def _text(file: Path, report: Mapping[str, Any]) -> str:
    if report["errors"]:
        count = len(report["errors"])
        return f"{report['text']}\n{count} error{'s' if count > 1 else ''}; a server would refuse to start."
    warnings = [f"{file}: warning: {sentence}" for sentence in report["warnings"]]
    effective = yaml.safe_dump(report["policy"], sort_keys=False, allow_unicode=True, default_flow_style=None)
    return "\n".join([*warnings, f"{file}: valid. Effective policy:", effective])
