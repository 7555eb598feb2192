"""The normal run draws the same examples each time; PTOASM_EXAMPLES=50000 draws that many new ones."""

import os

from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("normal", deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW)
settings.register_profile("long", deadline=None, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile("long" if "PTOASM_EXAMPLES" in os.environ else "normal")
