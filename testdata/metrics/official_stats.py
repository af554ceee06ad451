"""What Airflow's own stats module sends for calls that are read from standard input.

The input is a JSON list of scenarios, `{"options": {name: value}, "calls": [[function, name, value, tags]]}`;
the answer is a list of one object each: the datagrams, and of each name what `metrics_template.yaml` says.
The clients for statsd and Datadog are no part of Airflow's installation: stand-ins that write the same lines
take their places.
"""

from __future__ import annotations

import json
import os
import re
import sys
import types

SENT: list[str] = []


class StatsClient:
    """The lines of the `statsd` package."""

    def __init__(self, host="localhost", port=8125, prefix=None, ipv6=False):
        self.prefix = prefix

    def line(self, stat, value):
        return f"{self.prefix}.{stat}:{value}" if self.prefix else f"{stat}:{value}"

    def incr(self, stat, count=1, rate=1):
        SENT.append(self.line(stat, f"{count}|c"))

    def decr(self, stat, count=1, rate=1):
        self.incr(stat, -count, rate)

    def gauge(self, stat, value, rate=1, delta=False):
        if value < 0 and not delta:
            SENT.append(self.line(stat, "0|g") + "\n" + self.line(stat, f"{value}|g"))
        else:
            SENT.append(self.line(stat, f"{value}|g"))

    def timing(self, stat, delta, rate=1):
        SENT.append(self.line(stat, f"{delta:0.6f}|ms"))


class DogStatsd:
    """The lines of the `datadog` package."""

    def __init__(self, host=None, port=None, namespace=None, constant_tags=None):
        self.namespace = namespace
        self.constant_tags = constant_tags or []

    def send(self, metric, kind, value, tags):
        name = f"{self.namespace}.{metric}" if self.namespace else metric
        tags = [re.sub(r"[^\w\d_\-:/\.]", "_", tag) for tag in [*(tags or []), *self.constant_tags]]
        SENT.append(f"{name}:{value}|{kind}" + ("|#" + ",".join(tags) if tags else ""))

    def increment(self, metric, value=1, tags=None, sample_rate=None):
        self.send(metric, "c", value, tags)

    def decrement(self, metric, value=1, tags=None, sample_rate=None):
        self.send(metric, "c", -value, tags)

    def gauge(self, metric, value, tags=None, sample_rate=None):
        self.send(metric, "g", value, tags)

    def timing(self, metric, value, tags=None, sample_rate=None):
        self.send(metric, "ms", value, tags)


def main() -> None:
    for name, client in {"statsd": StatsClient, "datadog": DogStatsd}.items():
        module = types.ModuleType(name)
        setattr(module, client.__name__, client)
        sys.modules[name] = module

    from airflow._shared.observability.metrics.metrics_registry import MetricsRegistry
    from airflow.configuration import conf
    from airflow.observability import stats
    from airflow.observability.metrics.stats_utils import get_stats_factory

    answers = []
    for scenario in json.load(sys.stdin):
        SENT.clear()
        variables = {
            f"AIRFLOW__METRICS__{name.upper()}": value for name, value in scenario["options"].items()
        }
        os.environ.update(variables)
        stats.initialize(
            factory=get_stats_factory(), export_legacy_names=conf.getboolean("metrics", "legacy_names_on")
        )
        for function, name, value, tags in scenario["calls"]:
            getattr(stats, function)(name, value, tags=tags)
        registry = MetricsRegistry()
        known = {name: registry.get(name) for _, name, _, _ in scenario["calls"]}
        answers.append({"sent": list(SENT), "known": known})
        for name in variables:
            del os.environ[name]
    print(json.dumps(answers))


main()
