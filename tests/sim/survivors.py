"""Why drawn faults that survive do, by their names."""

WHY = {
    "client.py, Client._step: self.news = False → pass": "no fault that shows: the client would look for better replicas with every event, "
    "and find the same ones",
}
