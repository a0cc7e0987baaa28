"""The edge where people's words become typed values: policy file, flags and environment.

Reads and checks; it decides nothing and talks to no outside system. Every problem is collected, with its
path and line, because a policy mended one error at a time is a policy mended at 3 a.m.
"""

from remediator.config.policy_file import load_policy, parse_policy, policy_from_mapping
from remediator.config.problems import ConfigError, Problem
from remediator.config.scaling import scaled
from remediator.config.schema import json_schema
from remediator.config.settings import Settings

__all__ = [
    "ConfigError",
    "Problem",
    "Settings",
    "json_schema",
    "load_policy",
    "parse_policy",
    "policy_from_mapping",
    "scaled",
]
