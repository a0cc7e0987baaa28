"""The table that teams fill in: its template, what becomes of it, and what is refused."""

from pathlib import Path

import pytest

from remediator.config import parse_policy
from remediator.core.policy import BusinessRule
from scripts.business_rows import KEYS, REMARKS, TableError, rows_of

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "docs" / "business-table.csv"
PAGE = (ROOT / "docs" / "business-table.md").read_text(encoding="utf-8")
HEAD = ",".join(KEYS)


def table(directory: Path, *lines: str) -> list[Path]:
    """A file with these rows."""
    file = directory / "team.csv"
    file.write_text("\n".join([HEAD, *lines, ""]), encoding="utf-8")
    return [file]


def test_the_page_shows_what_the_template_becomes() -> None:
    """The rows in the page are those of the template, which is a valid policy, and every column is explained."""
    rows = rows_of([TEMPLATE])
    assert f"```yaml\n{rows}```" in PAGE
    assert len(parse_policy(rows).business) == len(TEMPLATE.read_text(encoding="utf-8").splitlines()) - 1
    assert TEMPLATE.read_text(encoding="utf-8").splitlines()[0] == ",".join((*KEYS, *REMARKS))
    assert all(f"`{column}`" in PAGE for column in (*KEYS, *REMARKS))


def test_rows_that_name_more_come_first(tmp_path: Path) -> None:
    """Whatever order the teams sent them in: in a policy the first match wins."""
    files = table(tmp_path, "a,,,low,,,,", "a,,web-*,low,,,,", "a,,web-1,low,,,,", "a,Deployment,web-1,low,,,,")
    names = [(row.kind, row.workload) for row in parse_policy(rows_of(files)).business]
    assert names == [("Deployment", "web-1"), ("*", "web-1"), ("*", "web-*"), ("*", "*")]


def test_every_cell_arrives(tmp_path: Path) -> None:
    """Each column becomes its key."""
    (row,) = parse_policy(rows_of(table(tmp_path, "a,Job,etl,Low,Yes,0,emptyDir hostPath,3"))).business
    assert row == BusinessRule(
        namespace="a",
        kind="Job",
        workload="etl",
        tier=row.tier,
        allow_single_replica=True,
        min_ready_replicas=0,
        allow_volumes=("emptyDir", "hostPath"),
        scale_on_pressure=3,
    )
    assert row.tier == "low"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,,,,,,,", "team.csv:2: tier: '(empty)' is not one of"),
        ("a,,,low,maybe,,,", "team.csv:2: only_replica_may_go: 'maybe' is neither yes nor no"),
        ("a,,,low,,some,,", "team.csv:2: replicas_that_stay: "),
        ("a,,,low,,,disk,", "team.csv:2: volumes_that_may_be_lost: "),
        ("a,,,low,,,,none", "team.csv:2: scale_to: "),
        ("a,,,low,,,,\na,,,standard,,,,", "team.csv:3: a * * stands in "),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, line: str, said: str) -> None:
    """With file, line and the table's own column."""
    with pytest.raises(TableError, match=r"^") as refused:
        rows_of(table(tmp_path, line))
    assert said in str(refused.value)


def test_a_lost_first_line_is_told(tmp_path: Path) -> None:
    """A table without its heading is not read by position."""
    file = tmp_path / "team.csv"
    file.write_text("a,,,low,,,,\n", encoding="utf-8")
    with pytest.raises(TableError, match="keep the first line of the template"):
        rows_of([file])
