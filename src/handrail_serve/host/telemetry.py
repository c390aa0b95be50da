"""Telemetry: a span and three measures per operation, sent by OpenTelemetry; the only file that imports it.

A span has the name of the operation, how it ended and how long it took: no input, no answer, no token and no
title. The providers stay here and are not made the process's own, so that no other library sends anything.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

from handrail.ports.process import CallNote
from handrail.version import __version__

_FLUSH_MS = 2_000
"""How long the end of a server waits for a collector."""


def export_telemetry(environment: Mapping[str, str]) -> Telemetry:
    """Telemetry to the collector that the `OTEL_` variables name; the library reads them itself."""
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    spans, readers = [], []
    if environment.get("OTEL_TRACES_EXPORTER", "otlp") != "none":
        spans.append(BatchSpanProcessor(OTLPSpanExporter()))
    if environment.get("OTEL_METRICS_EXPORTER", "otlp") != "none":
        readers.append(PeriodicExportingMetricReader(OTLPMetricExporter()))
    return Telemetry(spans, readers)


class Telemetry:
    """`ports.Observer` that sends what it gets."""

    def __init__(self, spans: list[SpanProcessor], readers: list[MetricReader]) -> None:
        resource = Resource({"service.name": "handrail", "service.version": __version__}).merge(
            Resource.create()
        )
        self._spans = TracerProvider(resource=resource, shutdown_on_exit=False)
        for processor in spans:
            self._spans.add_span_processor(processor)
        self._tracer = self._spans.get_tracer("handrail", __version__)
        self._measures = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        meter = self._measures.get_meter("handrail", __version__)
        self._calls = meter.create_counter("handrail.calls", description="Operations that were called.")
        self._failures = meter.create_counter("handrail.failures", description="Calls that failed.")
        self._duration = meter.create_histogram(
            "handrail.call.duration", unit="ms", description="How long a call took."
        )
        self._feeds = meter.create_up_down_counter(
            "handrail.feeds.open", description="Feeds of changes that are open."
        )

    def note_call(self, call: CallNote) -> None:
        facts: dict[str, Any] = {"handrail.operation": call.operation, "handrail.outcome": call.outcome}
        ended_ns = time.time_ns()
        span = self._tracer.start_span(
            call.operation, attributes=facts, start_time=ended_ns - call.duration_ms * 1_000_000
        )
        if call.is_failure:
            span.set_status(Status(StatusCode.ERROR))
            self._failures.add(1, facts)
        span.end(ended_ns)
        self._calls.add(1, facts)
        self._duration.record(call.duration_ms, facts)

    def note_feeds(self, change: int) -> None:
        self._feeds.add(change)

    def close(self) -> None:
        self._spans.force_flush(_FLUSH_MS)
        self._spans.shutdown()
        self._measures.shutdown(_FLUSH_MS)
