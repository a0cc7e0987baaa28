"""HTTP calls that end: one total deadline over connecting, waiting and reading, no redirects, a cap on the size.

A time-out of `requests` is one per read of the socket, and a server that drips a byte a second outlives it; so each
call runs on a thread of its own and is left behind when its time is over. What is left behind ends by itself, holds
up nobody's exit, and never grows beyond a number. Knows nothing of what is asked.
"""

import threading
import time
from concurrent.futures import Future
from typing import Any

import requests
import urllib3

_PIECE_BYTES = 65536
_AT_ONCE = 16
MAX_BYTES = 64 * 1024**2


class DeadlineSession(requests.Session):
    """A session whose calls end within `deadline_seconds`, whatever the server does."""

    def __init__(self, deadline_seconds: float, *, max_bytes: int = MAX_BYTES) -> None:
        super().__init__()
        self._deadline_seconds, self._max_bytes = deadline_seconds, max_bytes
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """As requests', bounded, its body read. Raises requests.Timeout and the rest of its family."""
        end = time.monotonic() + self._deadline_seconds
        if not self._places.acquire(timeout=self._deadline_seconds):
            raise self._late()
        asked: Future[requests.Response] = Future()
        run = threading.Thread(target=self._answer, args=(asked, end, arguments, options), daemon=True, name="call")
        run.start()
        try:
            return asked.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            raise self._late() from None

    def _answer(
        self, asked: "Future[requests.Response]", end: float, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        try:
            asked.set_result(self._whole(end, arguments, options))
        except Exception as error:
            asked.set_exception(error)
        finally:
            self._places.release()

    def _whole(self, end: float, arguments: tuple[Any, ...], options: dict[str, Any]) -> requests.Response:
        remaining = max(0.001, end - time.monotonic())
        options |= {"timeout": remaining, "stream": True, "allow_redirects": False}
        try:
            response = super().request(*arguments, **options)
            with response:
                response._content = self._body(response, end)
                response._content_consumed = True  # type: ignore[attr-defined]  # or close() drops the connection
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise self._late() from error
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError(f"the answer broke off: {error}") from error
        return response

    def _body(self, response: requests.Response, end: float) -> bytes:
        """Piece by piece as they come: a read that waits for a whole block would wait for a dripping server."""
        body = bytearray()
        while piece := response.raw.read1(_PIECE_BYTES, decode_content=True):
            body += piece
            if len(body) > self._max_bytes:
                raise requests.RequestException(f"an answer of more than {self._max_bytes} bytes")
            if time.monotonic() > end:
                raise self._late()
        return bytes(body)

    def _late(self) -> requests.Timeout:
        return requests.Timeout(f"no whole answer within {self._deadline_seconds:g} s")
