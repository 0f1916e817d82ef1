"""Why drawn faults that survive do, by their names."""

WHY = {
    "judging.py, Judge._lacking: position = min((offer.kept_from for offer in offers.values() if offer != UNREACHED), default=0) → "
    "position = min((offer.kept_from for offer in offers.values() if offer != UNREACHED), default=-1)": "no fault that shows: nobody is reached then, and whoever is not reached is in failure already",
}
