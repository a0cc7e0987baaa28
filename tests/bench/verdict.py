"""How every bench ends: figures, ratios and their bounds in build/bench/NAME.json, a line for each bound, a status.

Run by itself (`python tests/bench/verdict.py`) it prints what the last runs found as a Markdown table for the docs.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BUILD = Path(__file__).parents[2] / "build" / "bench"


def environment() -> str:
    """What was measured on."""
    return f"{os.cpu_count()} CPUs, Linux {os.uname().release}, Python {sys.version.split()[0]}"


def conclude(
    name: str, figures: Mapping[str, Any], ratios: Mapping[str, float], must: Mapping[str, float], **more: object
) -> int:
    """Write and print; 1 when a ratio is above its bound. A bound without a ratio was not measured: said."""
    BUILD.mkdir(parents=True, exist_ok=True)
    out = BUILD / f"{name}.json"
    found = {"figures": {"environment": environment(), **figures}, "ratios": ratios, "must": must, **more}
    out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for each, most in must.items():
        sys.stdout.write(f"{_judged(ratios.get(each), most)} {each} (at most {most:g})\n")
    sys.stdout.write(f"wrote {out}\n")
    return int(any(ratios[each] > most for each, most in must.items() if each in ratios))


def _judged(ratio: float | None, most: float) -> str:
    if ratio is None:
        return "n/a  not measured:"
    return f"{'ok  ' if ratio <= most else 'MISS'} {ratio:9.4f}"


def table() -> str:
    """All benches that were run here, as Markdown."""
    lines = ["| bench | ratio | found | at most |", "|---|---|---|---|"]
    for path in sorted(BUILD.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        for name, most in found["must"].items():
            ratio = found["ratios"].get(name)
            lines.append(
                f"| {path.stem} | {name} | {'not measured' if ratio is None else f'{ratio:.3g}'} | {most:.3g} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
