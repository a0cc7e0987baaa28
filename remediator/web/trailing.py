"""The audit of all replicas, asked as one: our own files and our peers' answers, side by side and in bounded time.

A peer that does not answer is named in the answer and never fails it. Knows no file and no HTTP client.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from remediator.core.trail import Missing, Part, Trail, TrailQuestion, merged

Source = Callable[[TrailQuestion], Part]
"""Answers for one server; raises OSError or ValueError when it cannot."""
_PEERS_AT_ONCE = 8


class Trails:
    """Everybody who can be asked."""

    def __init__(self, name: str, own: Source, peers: Mapping[str, Source], *, deadline_seconds: float = 4.0) -> None:
        self._name, self._own, self._peers, self._deadline_seconds = name, own, peers, deadline_seconds
        self._pool = ThreadPoolExecutor(_PEERS_AT_ONCE, thread_name_prefix="peers")

    def __call__(self, asked: TrailQuestion) -> Trail:
        """One page of everybody's records, or of ours alone when it is asked locally."""
        peers = {} if asked.local else {name: self._pool.submit(ask, asked) for name, ask in self._peers.items()}
        answers = {self._name: self._answered(partial(self._own, asked))}
        answers |= {
            name: self._answered(partial(future.result, self._deadline_seconds)) for name, future in peers.items()
        }
        parts = [each for each in answers.values() if isinstance(each, Part)]
        return merged(parts, asked, [Missing(name, why) for name, why in answers.items() if isinstance(why, str)])

    @staticmethod
    def _answered(ask: Callable[[], Part]) -> Part | str:
        """What was found, or why not."""
        try:
            return ask()
        except TimeoutError:
            return "no answer in time"
        except (OSError, ValueError) as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
