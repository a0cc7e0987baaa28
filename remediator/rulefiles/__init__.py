"""The shipped rules, rendered for a stack: level profile, join to the node, thresholds, pace.

One source: rules/*.yaml are real rule files (profile graded, `node` label, production pace). Rendering selects and
transforms them; there is no second copy of any rule. Nothing is evaluated here: levels belong to PromQL.
"""

from remediator.rulefiles.alertmanager import alertmanager_config
from remediator.rulefiles.joins import NODE_JOINS
from remediator.rulefiles.rendering import PROFILES, RulesError, render

__all__ = ["NODE_JOINS", "PROFILES", "RulesError", "alertmanager_config", "render"]
