"""The two failures that stop an act for good: the record was lost to another replica, the audit cannot be kept.

Raised by adapters, understood by the reconciler; here because both know the core and not one another.
"""


class RecordConflictError(Exception):
    """Somebody else wrote the record since it was loaded: another replica acts, this one stops."""


class AuditUnavailableError(Exception):
    """An audit line could not be kept; an act without its intent line is not allowed."""
