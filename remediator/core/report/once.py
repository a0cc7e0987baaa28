"""What has been counted already, in bounded memory: the oldest is forgotten first."""

from collections import OrderedDict
from collections.abc import Hashable

REMEMBERED = 20_000


class Once:
    """Says of each key whether it is new."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._seen: OrderedDict[Hashable, None] = OrderedDict()
        self._most = most

    def first(self, key: Hashable) -> bool:
        """Whether the key was not asked about before."""
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._most:
            self._seen.popitem(last=False)
        return True
