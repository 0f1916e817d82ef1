"""What a process of a deployment tells Prometheus: which metrics there are, where their values come from, and the port that it is asked at.

Nothing is measured here: values are those of `auroral status` and of what the host shows. How they are drawn is for Grafana.
"""
