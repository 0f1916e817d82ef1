"""Settings of hypothesis for all tests; choose with HYPOTHESIS_PROFILE=dev|ci|long."""

import os

from hypothesis import settings

# No deadline: the first Spark job of a session takes seconds, the next one milliseconds.
settings.register_profile("dev", deadline=None, print_blob=True)
# Repeatable: a change must not fail because of a seed that another change would have met.
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.register_profile("long", settings.get_profile("dev"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))
