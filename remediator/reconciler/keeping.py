"""Writing a node's record: the fence before every act.

A write that meets a newer resourceVersion is tried once more when only the operator's words changed
meanwhile (`kubectl patch nrem` must not lose what was done); when the state itself changed, another replica
acts on the node and `TakenOver` is raised: whoever meets it stops, quietly.
"""

from dataclasses import replace

from remediator import metrics as counters
from remediator.core.state import NodeState
from remediator.reconciler.ports import Record, RecordConflictError, Records


class TakenOverError(Exception):
    """Somebody else moved the node's state on: stop, do not write, do not act."""


class Keeper:
    """Loads and saves under the fence."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def keep(self, record: Record, state: NodeState) -> Record:
        """Write the state when it is worth it; the record as it stands afterwards."""
        return self.write(record, state) if worth_writing(record.state, state) else record

    def write(self, record: Record, state: NodeState) -> Record:
        """Write the state, always: this is the fence of the act that follows."""
        try:
            return self._records.save(record, state)
        except RecordConflictError:
            fresh = self._records.load(record.node)
            if fresh.state != record.state:
                raise self._taken_over(record) from None
        try:
            return self._records.save(fresh, state)
        except RecordConflictError:
            raise self._taken_over(record) from None

    def _taken_over(self, record: Record) -> TakenOverError:
        counters.RECORD_CONFLICTS.inc()
        return TakenOverError(f"the record of {record.node} was written by another replica")


def worth_writing(before: NodeState, after: NodeState) -> bool:
    """A due time that only moves on is no news: busy records are looked at by every resync anyway."""
    if before.due_at is not None and after.due_at is not None:
        return replace(before, due_at=after.due_at) != after
    return before != after
