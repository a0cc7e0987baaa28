"""The policy file: what is accepted, and how refusals are told."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remediator.config
from remediator.config import ConfigError, json_schema, load_policy, parse_policy, policy_from_mapping, schema
from remediator.config.dangers import dangers
from remediator.config.koordinator import KoordinatorSection, ThresholdsSection
from remediator.core import policy
from remediator.core.model import Level, Mode, Strategy, Tier
from remediator.core.policy import Policy, default_ladder
from remediator.core.strategy_policy import KoordinatorPolicy, Thresholds

ROOT = Path(__file__).resolve().parents[2]


def problems(text: str) -> list[tuple[str, int | None, str]]:
    """Problems of a refused policy text as (path, line, message)."""
    with pytest.raises(ConfigError) as refused:
        parse_policy(text)
    return [(problem.path, problem.line, problem.message) for problem in refused.value.problems]


def test_an_empty_file_is_the_shipped_policy() -> None:
    """Nothing written means every shipped default, observe mode included."""
    assert parse_policy("") == Policy()
    assert parse_policy("# only a comment\n").mode is Mode.OBSERVE


def test_the_example_in_the_docs_loads_and_states_the_shipped_values() -> None:
    """docs/policy-example.yaml differs from the shipped policy only where its comments say so."""
    example = load_policy(ROOT / "docs" / "policy-example.yaml")
    shipped = Policy()
    for name in (
        "ladder",
        "caps",
        "safeguards",
        "timers",
        "taint",
        "weights",
        "importance",
        "alert_names",
        "release",
    ):
        assert getattr(example, name) == getattr(shipped, name), name


@pytest.mark.parametrize(
    ("section", "core"),
    [
        (schema.LadderSection, policy.LadderStep),
        (schema.BusinessSection, policy.BusinessRule),
        (schema.ModeSection, policy.ModeRule),
        (schema.WeightsSection, policy.Weights),
        (schema.CapsSection, policy.Caps),
        (schema.SafeguardsSection, policy.Safeguards),
        (schema.TimersSection, policy.Timers),
        (schema.TaintSection, policy.TaintSpec),
        (KoordinatorSection, KoordinatorPolicy),
        (ThresholdsSection, Thresholds),
    ],
)
def test_everything_the_core_can_be_told_stands_in_the_file(section: Any, core: Any) -> None:
    """No setting of the core is out of a policy file's reach, and no key is without effect."""
    remembered = {"earlier"}  # not said by anybody: what stood in the live ConfigMap before
    assert set(section.model_fields) == {field.name for field in fields(core)} - remembered


def test_koordinators_settings_are_taken_under_their_own_names() -> None:
    """clusterStrategy and nodeStrategies can be copied over from Koordinator."""
    text = """
koordinator:
  strategies: [BEMemoryEvict]
  clusterStrategy: {memoryEvictThresholdPercent: 80}
  nodeStrategies: [{nodeSelector: {pool: batch}, memoryEvictLowerPercent: 60}]
"""
    found = parse_policy(text).koordinator
    assert found.strategies == (Strategy.BE_MEMORY_EVICT,)
    assert found.cluster.memory_evict_threshold_percent == 80
    assert found.nodes[0].thresholds.memory_evict_lower_percent == 60


@pytest.mark.parametrize(
    ("fragment", "word"),
    [
        ("strategies: [MemoryEvict]", "evictEnabledPriorityThreshold"),
        ("strategies: [BEMemoryEvict], clusterStrategy: {memoryEvictLowerPercent: 75}", "below"),
        ("strategies: [BeMemoryEvict]", "did you mean BEMemoryEvict?"),
        ("clusterStrategy: {memoryEvictTresholdPercent: 1}", "did you mean memoryEvictThresholdPercent?"),
        ("nodeStrategies: [{nodeSelector: {}}]", "empty"),
    ],
)
def test_a_strategy_that_cannot_run_is_refused(fragment: str, word: str) -> None:
    """A strategy without what it needs, or with a typo, stops the start and not the first alert."""
    assert word in problems(f"koordinator: {{{fragment}}}")[0][2]


def test_a_ladder_step_keeps_what_it_does_not_mention() -> None:
    """Changing one key of RED leaves its other keys, and the other levels, as shipped."""
    ladder = parse_policy("ladder: {red: {max_rounds: 1}}").ladder
    assert ladder[Level.RED].evict_tiers == (Tier.OFFLINE, Tier.LOW, Tier.STANDARD)
    assert ladder[Level.RED].max_rounds == 1
    assert ladder[Level.ORANGE] == default_ladder()[Level.ORANGE]


def test_volumes_of_one_tier_leave_the_other_tiers_as_shipped() -> None:
    """volumes_allowed is laid over the shipped table tier by tier."""
    allowed = parse_policy("safeguards: {volumes_allowed: {low: []}}").safeguards.volumes_allowed
    assert allowed[Tier.LOW] == ()
    assert allowed[Tier.OFFLINE] == ("emptyDir", "hostPath")


@pytest.mark.parametrize(("profile", "safe"), [("graded", 0.70), ("sentinel", 0.80), ("score", 0.70)])
def test_the_safe_level_follows_the_profile(profile: str, safe: float) -> None:
    """Without safe_used_ratio the profile's own safe level is taken."""
    assert parse_policy(f"profile: {profile}").safe_used_ratio == safe
    assert parse_policy(f"profile: {profile}\nsafe_used_ratio: 0.62").safe_used_ratio == 0.62


def test_durations_and_sizes_are_read_as_people_write_them() -> None:
    """10m, 1h30m and 100Mi mean what they say."""
    found = parse_policy("timers: {calm_seconds: 1h30m, settle_seconds: 45}\nsafeguards: {min_release_bytes: 2Gi}")
    assert found.timers.calm_seconds == 5400
    assert found.timers.settle_seconds == 45
    assert found.safeguards.min_release_bytes == 2 * 2**30


def test_all_problems_are_told_at_once_with_path_and_line() -> None:
    """Every fault of the file is in one answer, in the order of the lines."""
    found = problems("mod: observe\nladder:\n  red:\n    max_round: 2\ntimers:\n  calm_seconds: 10mm\n")
    assert [(path, line) for path, line, _ in found] == [
        ("mod", 1),
        ("ladder.red.max_round", 4),
        ("timers.calm_seconds", 6),
    ]


def test_an_unknown_key_names_the_nearest_valid_one() -> None:
    """A typo is answered with what was probably meant."""
    assert problems("safegards: {}")[0][2] == "unknown key; did you mean safeguards?"
    assert problems("caps: {nodes_actng: 1}")[0][2] == "unknown key; did you mean nodes_acting?"
    assert problems("modes: [{node_selector: {a: b}, mode: off}]")[-1][2].endswith("did you mean nodeSelector?")


def test_an_unknown_value_names_the_nearest_valid_one() -> None:
    """A mistyped word of a closed list is answered with the list and the nearest word."""
    assert problems("mode: enforc")[0][2].endswith("did you mean enforce?")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("alerts: []", "alerts"),
        ("modes: [{nodeSelector: {}, mode: enforce}]", "modes[0].nodeSelector"),
        ("modes: [{mode: enforce}]", "modes[0].nodeSelector"),
        ("business: [{namespace: '', tier: low}]", "business[0].namespace"),
    ],
)
def test_f06_an_empty_selector_or_alert_list_is_refused(text: str, path: str) -> None:
    """F06: what is empty would mean everything, so the server refuses to start with it."""
    assert [found[0] for found in problems(text)] == [path]


def test_critical_is_never_among_the_tiers_to_evict() -> None:
    """A ladder that names critical is refused: the core never evicts it, so the file would lie."""
    assert "critical" in problems("ladder: {red: {evict_tiers: [offline, critical]}}")[0][2]


def test_weights_must_sum_to_one() -> None:
    """Weights that do not sum to 1 are refused with the sum."""
    assert problems("weights: {business: 0.9}")[0][2].endswith("not to 1.5")


def test_a_key_that_stands_twice_is_refused() -> None:
    """YAML's silent last-one-wins is an error here, with both lines."""
    assert problems("caps:\n  nodes_acting: 1\n  nodes_acting: 3\n") == [
        ("caps.nodes_acting", 3, "stands twice (first in line 2); keep one")
    ]


@pytest.mark.parametrize("text", ["a: [", "\tmode: off", "- 1\n- 2", "42"])
def test_what_is_not_a_mapping_or_not_yaml_is_refused(text: str) -> None:
    """A broken file is told with its line, not with a traceback."""
    assert problems(text)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """The path and the system's reason are in the message."""
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load_policy(tmp_path / "none.yaml")


def test_a_fragment_of_a_scenario_is_read_by_the_same_schema() -> None:
    """A mapping gives the same policy as the same text."""
    fragment = {"mode": "enforce", "safe_used_ratio": 0.62}
    assert policy_from_mapping(fragment) == parse_policy("mode: enforce\nsafe_used_ratio: 0.62")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("mode: enforce", "enforce"),
        ("undeclared: standard", "undeclared"),
        ("business: [{tier: low}, {namespace: a, tier: critical}]", "hides"),
        ("business: [{tier: low}]", "every workload"),
        ("ladder: {red: {evict_tiers: [important]}}", "important"),
        ("ladder: {red: {max_rounds: 0}}", "nothing will be evicted"),
        ("safe_used_ratio: 0.8", "YELLOW"),
        ("safe_used_ratio: 0.2", "half"),
        ("safeguards: {force_delete: true}", "force_delete"),
        ("safeguards: {protected_namespaces: [infra]}", "kube-system"),
        ("caps: {evictions_per_hour: 1000}", "limits"),
        ("timers: {settle_seconds: 1}", "settle_seconds"),
        ("mode: approve", "business is empty"),
        ("weights: {business: 0.1, memory: 0.5, restart: 0.2, qos: 0.2}", "weights.business"),
        ("importance: {low: 90}", "importance: low (90)"),
        ("ladder: {yellow: {notify: false}}", "nobody is told"),
        ("ladder: {orange: {cordon: true}, red: {cordon: false}}", "the worse the node"),
        ("ladder: {orange: {max_pods_per_round: 5}}", "the worse the node"),
        ("safeguards: {priority_ceiling: 2000000000}", "priority_ceiling"),
        ("safeguards: {system_priority: 2000000001}", "system-critical"),
        ("caps: {evictions_per_hour: 0}", "nothing will ever be done"),
    ],
)
def test_dangerous_but_legal_settings_are_told(text: str, word: str) -> None:
    """What is allowed but probably not meant is a warning that names the setting."""
    assert any(word in sentence for sentence in dangers(parse_policy(text)))


def test_the_shipped_policy_has_no_dangers() -> None:
    """A warning that always rings is read by nobody."""
    assert dangers(Policy()) == ()


def test_the_shipped_json_schema_is_current() -> None:
    """remediator/config/schema.json equals what the models generate."""
    shipped = Path(remediator.config.__file__).with_name("schema.json")
    assert json.loads(shipped.read_text()) == json_schema()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5), st.text())
def test_no_value_makes_the_reader_crash(value: object, key: str) -> None:
    """Whatever stands in the file, the answer is a policy or a ConfigError."""
    for document in ({key: value}, {"timers": value}, {"ladder": {"red": value}}, {"business": [value]}):
        try:
            policy_from_mapping(document)
        except ConfigError as refused:
            assert refused.problems


def test_a_bare_off_is_the_mode_off() -> None:
    """YAML reads `off` as false; written as in the example it is the mode, at the top and in rows."""
    assert parse_policy("mode: off").mode is Mode.OFF
    rows = parse_policy("modes:\n  - {nodeSelector: {pool: a}, mode: off}").mode_rules
    assert [row.mode for row in rows] == [Mode.OFF]
    assert problems("mode: on")[0][0] == "mode"


def test_an_alias_of_itself_is_refused() -> None:
    """A document without an end is told as a problem."""
    assert "alias" in problems("alerts: &a [*a]")[0][2]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("modes: [{nodeSelector: {'bad key!': x}, mode: enforce}]", "modes[0].nodeSelector"),
        ("modes: [{nodeSelector: {pool: 'no spaces'}, mode: enforce}]", "modes[0].nodeSelector.pool"),
        ("business: [{labels: {'Upper.Domain/app': x}, tier: low}]", "business[0].labels"),
        ("taint: {key: 'a/b/c'}", "taint.key"),
        ("taint: {value: '-x'}", "taint.value"),
        (f"serving_label: {'x' * 64}", "serving_label"),
    ],
)
def test_names_that_kubernetes_would_refuse_are_refused_here(text: str, path: str) -> None:
    """A label that no node can have would never match, and an act that names it would fail at 3 a.m."""
    with pytest.raises(ConfigError) as refused:
        parse_policy(text)
    assert refused.value.problems[0].path.startswith(path)
    assert "no label" in refused.value.problems[0].message


def test_aliases_that_blow_up_are_refused() -> None:
    """Nine lines that would be a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(ConfigError, match="aliases"):
        parse_policy("\n".join(lines))
