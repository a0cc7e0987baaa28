"""The regression cases that are decisions: situation files, each with what is wanted of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from remediator.config.situation import situation_from_mapping
from remediator.core.planner import decide
from remediator.core.state import ActionKind, Decision

SITUATIONS = Path(__file__).parent / "situations"


def documents() -> list[Any]:
    """Every case of every file, named by the file and its title."""
    files = sorted(path for path in SITUATIONS.glob("*.yaml") if not path.name.startswith("_"))
    found = [(path.stem, each) for path in files for each in yaml.safe_load_all(path.read_text())]
    return [pytest.param(each, id=f"{name}: {each['title']}") for name, each in found]


def merged(below: Any, above: Any) -> Any:
    """`above` laid over `below`: mappings key by key, null takes a key away."""
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    both = {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}
    return {key: value for key, value in both.items() if value is not None}


def decided(document: Mapping[str, Any]) -> Decision:
    """The case laid over what it extends, decided."""
    base = yaml.safe_load((SITUATIONS / f"{document['extends']}.yaml").read_text())
    own = {key: value for key, value in document.items() if key not in ("title", "extends", "want")}
    asked = situation_from_mapping(merged(base, own))
    return decide(asked.state, asked.signal, asked.observation, asked.policy, asked.now)


def told(decision: Decision) -> dict[str, Any]:
    """What a `want` may ask for, as the decision says it."""
    actions = decision.plan.actions if decision.plan else ()
    state = decision.next_state
    return {
        "verdict": str(decision.verdict),
        "actions": [str(action.kind) for action in actions],
        "chosen": [f"{action.namespace}/{action.pod}" for action in actions if action.kind is ActionKind.EVICT],
        "phase": str(state.phase),
        "isolation": str(state.isolation),
        "level": state.level.name if state.level is not None else None,
        "gone": [each.uid for each in state.evictions if each.gone_at is not None],
        "reasons": {str(each.reason): each.detail for each in decision.reasons},
        "why_not": {f"{row.namespace}/{row.pod}": f"{row.reason}: {row.detail}" for row in decision.ranking},
        "notes": {f"{row.namespace}/{row.pod}": "; ".join(row.notes) for row in decision.ranking},
        "notices": {notice.key: notice.severity for notice in decision.notices},
    }


def holds(name: str, key: str, want: str, said: Mapping[str, str]) -> bool:
    """One entry: a notice by the start of its key, a pod's reason and part of its detail, part of a text."""
    if name == "notices":
        return any(full.startswith(key) and severity == want for full, severity in said.items())
    if name == "why_not":
        reason, _, part = want.partition(": ")
        return said.get(key, "").startswith(f"{reason}: ") and part in said[key]
    return want in said.get(key, "") and key in said


@pytest.mark.parametrize("document", documents())
def test_situations_are_decided_as_wanted(document: Mapping[str, Any]) -> None:
    """The verdict, steps, pods, reasons and messages that the case names."""
    said = told(decided(document))
    assert document["want"]
    for name, want in document["want"].items():
        if isinstance(want, Mapping):
            assert [key for key, text in want.items() if not holds(name, key, text, said[name])] == [], said[name]
        else:
            assert said[name] == want, name
