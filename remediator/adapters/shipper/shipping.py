"""The shipper: a thread that reads audit lines, sends them, and keeps on disk how far it came.

The writer never waits for it and knows nothing of it. A batch is settled line by line: taken, or set aside in a file
of rejected lines with the reason; what is neither waits and is sent again, ever more slowly, and holds the rest back,
so that nothing overtakes and memory holds one batch. Killed anywhere, it goes on from the last settled batch and
sends some lines twice, which their identities make harmless.
"""

import json
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from remediator import metrics
from remediator.adapters.shipper.bulk import Answer, Fate
from remediator.adapters.shipper.documents import Document, document
from remediator.adapters.shipper.trail import Counted, Cursor, Trail, as_json, from_json
from remediator.core.audit_names import MAX_BYTES, MAX_FILES, file_name
from remediator.core.state import Notice

log = logging.getLogger(__name__)
BATCH_BYTES, BATCH_LINES = 1024**2, 500
POLL_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = {Fate.LATER: 1.0, Fate.REFUSED: 30.0}
_MOST_PAUSE_SECONDS = {Fate.LATER: 60.0, Fate.REFUSED: 300.0}
_MOST_REJECTED_BYTES = 16 * 1024**2
_STOP_SECONDS = 1.5
Send = Callable[[Sequence[Document]], Sequence[Answer]]


@dataclass(frozen=True, slots=True)
class Files:
    """Where the audit lies, and how much of it rotation keeps."""

    directory: Path
    identity: str
    max_bytes: int = MAX_BYTES
    max_files: int = MAX_FILES

    @property
    def kept_bytes(self) -> int:
        """All of it."""
        return self.max_bytes * self.max_files

    def beside(self, name: str) -> Path:
        """A file of ours about this replica's audit."""
        return self.directory / file_name(self.identity).replace("audit", name, 1)


class Shipper:
    """One replica's audit, to one target. `step` is the whole of it; `start` does it in a thread until `close`."""

    def __init__(
        self,
        files: Files,
        send: Send,
        index: str,
        tell: Callable[[Notice], None],
        *,
        batch_bytes: int = BATCH_BYTES,
        batch_lines: int = BATCH_LINES,
    ) -> None:
        self._files, self._send, self._index, self._tell = files, send, index, tell
        self._trail = Trail(
            files.directory,
            files.identity,
            max_files=files.max_files,
            batch_bytes=batch_bytes,
            batch_lines=batch_lines,
        )
        self._progress, self._rejected = files.beside("shipped").with_suffix(".json"), files.beside("rejected")
        self._settled, self._trail.counted = self._kept()
        self._head = self._settled
        self._waiting: list[Document] = []
        self._aside: list[tuple[str, str, str]] = []
        """(identity, line, reason) of the batch in hand."""
        self._tries, self._trouble, self._losing = 0, "", False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audit-shipper", daemon=True)

    def start(self) -> None:
        """Begin; what a predecessor left is shipped first."""
        self._thread.start()

    def close(self) -> None:
        """Stop soon: a request that is under way is not waited for, its batch is sent again after the restart."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            try:
                pause = self.step()
            except OSError as error:
                self._say(f"the audit's files cannot be read: {error}", Fate.LATER)
                pause = _MOST_PAUSE_SECONDS[Fate.LATER]
            except Exception:
                log.exception("the audit is not shipped: an error of ours")
                pause = _MOST_PAUSE_SECONDS[Fate.REFUSED]

    def step(self) -> float:
        """Read or retry one batch; seconds to wait before the next step. Raises OSError when a file cannot be read."""
        self._look()
        worst = self._sent() if self._waiting else None
        if worst is not None:
            self._tries += 1
            doubled: float = _FIRST_PAUSE_SECONDS[worst] * 2 ** min(self._tries - 1, 10)
            return min(_MOST_PAUSE_SECONDS[worst], doubled)
        self._tries = 0
        if self._head == self._settled:
            return POLL_SECONDS
        self._settle()
        return 0.0

    def _look(self) -> None:
        batch, lost, changed = self._trail.look(self._settled, self._head)
        if lost:
            self._lost(lost)
        if self._head == self._settled:
            self._head = batch.after
            self._waiting = [found for name, line in batch.lines if (found := self._document(name, line))]
            if not batch.lines:
                self._settled = self._head
        unshipped = self._trail.backlog_bytes + sum(len(each.line) for each in self._waiting)
        metrics.AUDIT_BACKLOG.set(min(1.0, unshipped / self._files.kept_bytes))
        if changed:
            self._save()

    def _document(self, identity: str, line: bytes) -> Document | None:
        try:
            return document(identity, line, self._index)
        except ValueError as error:
            self._aside.append((identity, line.decode(errors="replace").rstrip("\n"), str(error)))
            return None

    def _sent(self) -> Fate | None:
        """The worst that kept documents from being settled; None: all are."""
        answers = list(zip(self._waiting, self._send(self._waiting), strict=True))
        taken = sum(answer.fate is Fate.TAKEN for _, answer in answers)
        metrics.AUDIT_SHIPPED.inc(taken)
        self._tries = 0 if taken else self._tries
        self._aside += [(each.id, each.line, answer.why) for each, answer in answers if answer.fate is Fate.REJECTED]
        left = [(each, answer) for each, answer in answers if answer.fate in (Fate.LATER, Fate.REFUSED)]
        self._waiting = [each for each, _ in left]
        if not left:
            self._say("", None)
            return None
        worst = next((answer for _, answer in left if answer.fate is Fate.REFUSED), left[0][1])
        self._say(worst.why, worst.fate)
        return worst.fate

    def _settle(self) -> None:
        """The batch in hand is done with."""
        if self._aside:
            self._set_aside()
        self._settled, self._losing = self._head, False
        self._trail.forget(self._settled)
        self._save()

    def _set_aside(self) -> None:
        metrics.AUDIT_REJECTED_LINES.inc(len(self._aside))
        why = self._aside[0][2]
        log.error("%d audit lines were rejected, see %s; the first: %s", len(self._aside), self._rejected, why)
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            if self._rejected.exists() and self._rejected.stat().st_size > _MOST_REJECTED_BYTES:
                self._rejected.replace(self._rejected.with_name(f"{self._rejected.name}.1"))
            with self._rejected.open("a", encoding="utf-8") as file:
                for name, line, why in self._aside:
                    file.write(json.dumps({"@timestamp": now, "id": name, "reason": why, "line": line}) + "\n")
        except OSError as error:
            log.error("%s cannot be written: %s; the lines are still in the audit file", self._rejected, error)
        self._aside = []

    def _lost(self, lines: int) -> None:
        metrics.AUDIT_LOST_LINES.inc(lines)
        if not self._losing:
            self._losing = True
            self._tell(
                Notice(
                    "audit-shipping-lost",
                    "critical",
                    "Audit lines are lost to Elasticsearch",
                    f"rotation dropped {lines} lines of {self._files.identity} before they were shipped, and goes on "
                    f"as long as it is not reached: {self._trouble or 'the shipper was not running'}",
                )
            )

    def _say(self, why: str, fate: Fate | None) -> None:
        """Each trouble once, and its end; a refusal to people, for time does not mend it."""
        trouble = why if fate is None else f"{fate.value}: {why}"
        if trouble == self._trouble:
            return
        first, self._trouble = self._trouble.split(":")[0] != trouble.split(":")[0], trouble
        if fate is None:
            log.info("the audit is shipped again")
        elif fate is Fate.REFUSED and first:
            text = f"{why}; mend the credentials, the key's rights or the address. It is tried again every few minutes"
            self._tell(Notice("audit-shipping-refused", "warning", "Elasticsearch refuses the audit", text))
        elif first:
            log.warning("the audit is not shipped at the moment, and is tried again: %s", why)

    def _kept(self) -> tuple[Cursor, dict[str, Counted]]:
        try:
            return from_json(json.loads(self._progress.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Cursor(), {}
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("%s cannot be used (%s): all that the audit files hold is sent again", self._progress, error)
            return Cursor(), {}

    def _save(self) -> None:
        """Whole or not at all; where it fails, more is sent twice after a restart."""
        fresh = self._progress.with_suffix(".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(as_json(self._settled, self._trail.counted), file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._progress)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._progress, error)
