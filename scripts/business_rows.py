"""Turns the table that teams filled in (docs/business-table.csv) into the `business:` rows of a policy.

    .venv/bin/python -m scripts.business_rows FILE.csv [FILE.csv ...] > business.yaml

Rows that name more stand before rows that name less, for in a policy the first match wins. A cell that cannot be read
is refused with its file, line and column; nothing is guessed from an empty one.
"""

import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from remediator.config import ConfigError, parse_policy

CONDITIONS = ("namespace", "kind", "workload")
KEYS = {
    "namespace": "namespace",
    "kind": "kind",
    "workload": "workload",
    "tier": "tier",
    "only_replica_may_go": "allow_single_replica",
    "replicas_that_stay": "min_ready_replicas",
    "volumes_that_may_be_lost": "allow_volumes",
    "scale_to": "scale_on_pressure",
}
"""Column of the table -> key of the policy."""
REMARKS = ("team", "what_an_eviction_costs")
_YES_NO = {"yes": "true", "no": "false"}
Conditions = tuple[str, ...]


class TableError(Exception):
    """Names the file, the line and the column."""


def rows_of(files: list[Path]) -> str:
    """The YAML of all files together; TableError for what cannot be read or stands there twice."""
    found: dict[Conditions, tuple[str, str]] = {}
    for where, row in _lines(files):
        conditions = tuple(row[name] or "*" for name in CONDITIONS)
        if conditions in found:
            raise TableError(f"{where}: {' '.join(conditions)} stands in {found[conditions][0]} already")
        found[conditions] = (where, _policy_row(row, where))
    ordered = sorted(found, key=lambda each: (each.count("*"), sum("*" in part for part in each)))
    return "business:\n" + "".join(found[conditions][1] for conditions in ordered)


def _lines(files: list[Path]) -> Iterator[tuple[str, dict[str, str]]]:
    for file in files:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            table = csv.DictReader(lines)
            if missing := [name for name in KEYS if name not in (table.fieldnames or ())]:
                raise TableError(f"{file}:1: no column {', '.join(missing)}: keep the first line of the template")
            for row in table:
                cells = {name: " ".join((row.get(name) or "").split()) for name in (*KEYS, *REMARKS)}
                yield f"{file}:{table.line_num}", cells


def _policy_row(row: Mapping[str, str], where: str) -> str:
    line = "  - {" + ", ".join(_pairs(row, where)) + "}"
    try:
        parse_policy(f"business:\n{line}\n")
    except ConfigError as refused:
        columns = {key: column for column, key in KEYS.items()}
        said = [(problem.path.rpartition(".")[2].partition("[")[0], problem.message) for problem in refused.problems]
        raise TableError("\n".join(f"{where}: {columns.get(key, key)}: {why}" for key, why in said)) from refused
    remarks = "; ".join(filter(None, (row[name] for name in REMARKS)))
    return f"{line}{'  # ' + remarks if remarks else ''}\n"


def _pairs(row: Mapping[str, str], where: str) -> Iterator[str]:
    for column, key in KEYS.items():
        value = row[column]
        if column in CONDITIONS and value not in ("", "*"):
            yield f'{key}: "{value}"'
        elif column == "tier":
            yield f"tier: {value.lower() or '(empty)'}"
        elif column == "volumes_that_may_be_lost" and value:
            yield f"{key}: [{', '.join(value.split())}]"
        elif column == "only_replica_may_go" and value:
            if value.lower() not in _YES_NO:
                raise TableError(f"{where}: {column}: {value!r} is neither yes nor no (or leave it empty)")
            yield f"{key}: {_YES_NO[value.lower()]}"
        elif column not in CONDITIONS and value:
            yield f"{key}: {value}"


if __name__ == "__main__":
    try:
        sys.stdout.write(rows_of([Path(name) for name in sys.argv[1:]]))
    except (TableError, OSError) as error:
        sys.exit(str(error))
