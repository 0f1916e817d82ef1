"""Why drawn faults that survive do, by their names."""

WHY = {
    "jobs.py, Jobs.start_stable: if end - begin == 1: → if True:": "a fault, and a small one: how long the first of several buckets "
    "waited would be learned too. Only waits that are shorter than a failure are, and deadlines go by the median of a hundred",
    "client.py, Client._step: self.news = False → pass": "no fault that shows: the client would look for better replicas with every event, "
    "and find the same ones",
}
