from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from routerfleet._report_buffer import MAX_REPORT_BYTES, MAX_REPORT_SAMPLES, ReportBuffer

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 700)),
        st.tuples(st.just("send"), st.just(0)),
        st.tuples(st.just("settle"), st.just(0)),
    ),
    max_size=30,
)


@given(steps=steps, max_samples=st.integers(1, 1_500))
def test_each_sample_is_sent_in_order_or_counted_as_dropped(steps: list[tuple[str, int]], max_samples: int) -> None:
    buffer = ReportBuffer(max_samples)
    added = 0
    dropped = 0
    settled: list[int] = []
    for step, count in steps:
        if step == "add":
            for _ in range(count):
                dropped += buffer.add({"kind": "system", "uptimeS": added})
                added += 1
        else:
            report = buffer.next_report()
            if report is None:
                continue
            assert buffer.next_report() is report
            assert 0 < len(report.samples) <= MAX_REPORT_SAMPLES
            if step == "settle":
                settled += [sample["uptimeS"] for sample in json.loads(report.body())["samples"]]
                buffer.settle()
        assert buffer.pending <= max_samples
        assert added == buffer.pending + buffer.dropped + len(settled)
    assert buffer.dropped == dropped
    assert settled == sorted(set(settled))


@given(lengths=st.lists(st.integers(0, 200_000), min_size=1, max_size=12))
def test_a_report_is_small_enough_unless_one_sample_is_not(lengths: list[int]) -> None:
    buffer = ReportBuffer(1_000)
    for length in lengths:
        buffer.add({"kind": "system", "fault": "ü" * length})
    sent = 0
    while (report := buffer.next_report()) is not None:
        assert len(report.samples) == 1 or len(b",".join(report.samples)) <= MAX_REPORT_BYTES
        sent += len(report.samples)
        buffer.settle()
    assert sent == len(lengths)


def test_a_full_buffer_keeps_the_report_that_is_being_sent() -> None:
    buffer = ReportBuffer(2)
    for uptime_s in (1, 2):
        buffer.add({"kind": "system", "uptimeS": uptime_s})
    outgoing = buffer.next_report()
    assert buffer.add({"kind": "system", "uptimeS": 3}) == 1
    assert buffer.next_report() is outgoing
    assert (buffer.pending, buffer.dropped) == (2, 1)
