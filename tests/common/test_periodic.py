"""Work that is repeated on a thread: it ends when it is stopped or done, and not by an error."""

from __future__ import annotations

import threading

import structlog

from gemel.common.periodic import Periodic


def test_it_goes_on_after_an_error_and_ends_when_there_is_no_more_to_do() -> None:
    seen, ended = [], threading.Event()

    def work() -> bool:
        seen.append(len(seen))
        if len(seen) == 2:
            raise ValueError("a record's value")
        if len(seen) == 4:
            ended.set()
        return len(seen) < 4

    periodic = Periodic("counting", 0.001, work)
    with structlog.testing.capture_logs() as lines:
        periodic.start()
        assert ended.wait(60)
        periodic.stop()
    assert seen == [0, 1, 2, 3]
    (line,) = lines
    assert (line["event"], line["work"], line["type"]) == ("periodic work failed", "counting", "ValueError")
    assert "record" not in str(line)


def test_a_stop_waits_for_what_has_begun_and_nothing_follows() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), []

    def work() -> bool:
        begun.set()
        assert may_end.wait(60)
        done.append(True)
        return True

    periodic = Periodic("waiting", 0.001, work)
    periodic.stop()  # it was not started
    periodic = Periodic("waiting", 0.001, work)
    periodic.start()
    assert begun.wait(60)
    threading.Timer(0.05, may_end.set).start()
    periodic.stop()
    assert done == [True]
