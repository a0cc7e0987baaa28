"""What holds for all tests: Hypothesis measures no time, for a busy machine is no defect."""

from hypothesis import settings

settings.register_profile("remediator", deadline=None)
settings.load_profile("remediator")
