"""The rule files and the Alertmanager route, rendered from `rules/`: one source for chart, drill and users.

Only text is made here. Nothing is measured, compared or decided: that is PromQL's part, in `rules/`.
"""

from remediator.rulefiles.options import LEVELS, NODE_JOINS, PROFILES, RuleOptionError, RuleOptions, options_from
from remediator.rulefiles.rendering import render
from remediator.rulefiles.route import alertmanager_config

__all__ = [
    "LEVELS",
    "NODE_JOINS",
    "PROFILES",
    "RuleOptionError",
    "RuleOptions",
    "alertmanager_config",
    "options_from",
    "render",
]
