"""Situation files: nothing is lost, little has to be written, every typo is told."""

from hypothesis import HealthCheck, Phase, given, settings

from remediator.config.situation import parse_situation, situation_text
from remediator.core.question import Question
from tests.config.questions import exact, in_order, questions


@settings(
    max_examples=60,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking these takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(questions())
def test_whatever_is_saved_is_read_back_to_the_last_bit(question: Question) -> None:
    """Every fact, gap, memory and policy survives, with its type and order."""
    read = parse_situation(situation_text(question))
    assert read == question
    for part in ("state", "signal", "observation"):
        assert exact(getattr(in_order(read), part)) == exact(getattr(in_order(question), part))
