# SPDX-License-Identifier: Apache-2.0
"""The protocol core, which has no I/O: bytes and messages in, bytes and messages out."""

from __future__ import annotations

import json
import random
from typing import Any, Dict, List, Optional

import pytest

import allotter as al
from allotter.options import connection_options, parse_server
from allotter.wire import http, websocket
from allotter.wire.worker import (
    RELEASED,
    Assigned,
    Cancel,
    Drained,
    Headers,
    Identity,
    Lost,
    ReportRefused,
    Session,
    Welcomed,
    done,
    failed,
    rejected,
)


@pytest.mark.parametrize(
    "answer, body",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n2;x=y\r\n1]\r\n0\r\nA: b\r\n\r\n",
            b"[1]",
        ),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", b"to the end"),
    ],
)
def test_answers_are_the_same_however_they_are_cut(answer: bytes, body: bytes) -> None:
    for size in (1, 2, 3, 7, len(answer)):
        parser = http.AnswerParser()
        got: Optional[http.Answer] = None
        for at in range(0, len(answer), size):
            got = got or parser.feed(answer[at : at + size])
        got = got or parser.end()
        assert got.body == body and got.status in (200, 201)


@pytest.mark.parametrize("answer", [b"garbage\r\n\r\n", b"HTTP/1.1 200\r\nContent-Length: x\r\n\r\n", b""])
def test_what_is_no_answer_is_unavailable(answer: bytes) -> None:
    with pytest.raises(al.Unavailable):
        parser = http.AnswerParser()
        parser.feed(answer)
        parser.end()


@pytest.mark.parametrize(
    "code, kind",
    [
        ("unknown_job", al.UnknownJob),
        ("bad_value", al.BadValue),
        ("too_many_jobs", al.AtBound),
        ("idempotency_conflict", al.IdempotencyConflict),
        ("stopping", al.Unavailable),
        ("of_a_newer_server", al.Refused),
    ],
)
def test_every_code_has_its_exception(code: str, kind: type) -> None:
    body = json.dumps({"error": {"code": code, "message": "m", "hint": "h"}}).encode()
    with pytest.raises(kind):
        http.Answer(400, {}, body, True).json()


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 70000])
def test_frames_come_back_however_they_are_cut(size: int) -> None:
    text = bytes(n % 251 for n in range(size))
    sent = bytearray(websocket.frame(text))
    head = 2 if size < 126 else 4 if size < 65536 else 10
    mask, masked = sent[head : head + 4], sent[head + 4 :]
    assert bytes(byte ^ mask[at % 4] for at, byte in enumerate(masked)) == text
    # As the server sends it: not masked, here in two pieces with a ping between.
    half = size // 2
    parts = _server_frame(text[:half], 1, False) + _server_frame(b"p", 9) + _server_frame(text[half:], 0)
    for step in (1, 1000, len(parts)):
        reader, got = websocket.FrameReader(), []
        for at in range(0, len(parts), step):
            reader.feed(parts[at : at + step])
            got += list(reader.frames())
        assert got == [(9, b"p"), (1, text)]


def _server_frame(data: bytes, opcode: int, last: bool = True) -> bytes:
    size = len(data)
    first = bytes([(0x80 if last else 0) | opcode])
    if size < 126:
        return first + bytes([size]) + data
    if size < 65536:
        return first + b"\x7e" + size.to_bytes(2, "big") + data
    return first + b"\x7f" + size.to_bytes(8, "big") + data


@pytest.mark.parametrize(
    "url, want",
    [
        ("http://127.0.0.1:7420", ("127.0.0.1", 7420, False)),
        ("https://q.example.org/", ("q.example.org", 443, True)),
        ("localhost:80", ("localhost", 80, False)),
        ("http://[::1]:7420", ("::1", 7420, False)),
    ],
)
def test_addresses_as_people_write_them(url: str, want: Any) -> None:
    endpoint = parse_server(url)
    assert (endpoint.host, endpoint.port, endpoint.tls) == want


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://", "http://x:0", "http://x/path", "http://a b", "http://[::1"]
)
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(ValueError, match="the server's address"):
        parse_server(url)


def test_the_token_is_taken_as_allot_takes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "named").write_text("of-the-file\n")
    monkeypatch.setenv("ALLOT_TOKEN_FILE", str(tmp_path / "named"))
    assert connection_options().token == "of-the-file"
    monkeypatch.setenv("ALLOT_TOKEN", "of-the-environment")
    assert connection_options().token == "of-the-environment"
    assert connection_options(token_file=str(tmp_path / "named")).token == "of-the-file"
    assert connection_options(token="given").token == "given"
    assert "given" not in repr(connection_options(token="given"))
    with pytest.raises(al.Error, match="cannot read a token"):
        connection_options(token_file=str(tmp_path / "missing"))


# --- A worker's session.


class Talk:
    """A session, and what a server would say to it."""

    def __init__(self, capacity: int = 4, wants_headers: bool = False) -> None:
        self.now = 100.0
        identity = Identity("w", 2, {"tags": ["t"]})
        self.session = Session(identity, capacity, unit=lambda: 0.5, wants_headers=wants_headers)

    def hear(self, **message: Any) -> List[Any]:
        return self.session.receive(json.dumps(message), self.now)

    def said(self) -> List[Dict[str, Any]]:
        return [json.loads(text) for text in self.session.outgoing(self.now)]

    def welcome(self, **more: Any) -> List[Any]:
        self.session.connecting(self.now)
        return self.hear(welcome={"worker": "1", "key": "k", "heartbeat_ms": 15000, **more})

    def assign(self, *indices: int, **more: Any) -> Any:
        tasks = [{"job": "9", "index": n, "lease": f"L{n}", "lease_ms": 60000, **more} for n in indices]
        (event,) = self.hear(tasks=tasks)
        assert isinstance(event, Assigned)
        return event.leases


def ref(n: int) -> Dict[str, Any]:
    return {"job": "9", "index": n, "lease": f"L{n}"}


def test_it_pulls_what_it_can_hold_and_reports_with_the_next_pull() -> None:
    talk = Talk()
    assert isinstance(talk.welcome()[0], Welcomed)
    assert talk.said() == [{"pull": 4}]
    one, two = talk.assign(1, 2)
    assert talk.said() == []
    talk.session.finish(one, done("7"))
    talk.session.finish(two, failed("why"))
    talk.now += 1
    assert talk.said() == [
        {"seq": 1, "done": [{**ref(1), "result": 7}], "failed": [{**ref(2), "error": "why"}], "pull": 4}
    ]


def test_it_asks_for_more_only_when_nothing_is_on_its_way() -> None:
    talk = Talk(capacity=8)
    talk.welcome()
    assert talk.said() == [{"pull": 8}]
    leases = talk.assign(*range(6))
    for lease in leases[:3]:
        talk.session.finish(lease, done())
    assert "pull" not in talk.said()[0]  # two more may be under way
    talk.assign(6, 7)
    assert talk.said() == [{"pull": 3}]
    for lease in leases[3:5]:
        talk.session.finish(lease, done())
    talk.now += 1
    assert talk.said()[0]["pull"] == 5


def test_reports_go_again_until_they_are_acknowledged() -> None:
    talk = Talk()
    talk.welcome()
    talk.said()
    one, two, three = talk.assign(1, 2, 3)
    talk.session.finish(one, done())
    talk.said()
    talk.session.finish(two, rejected("no"))
    pause = talk.session.disconnected(al.Unavailable("lost"))
    assert pause is not None
    hello = json.loads(talk.session.hello())["hello"]
    assert (hello["worker"], hello["key"]) == ("1", "k")
    assert sorted(entry["index"] for entry in hello["resume"]) == [1, 2, 3]
    talk.welcome(resumed=[ref(1), ref(2), ref(3)])
    assert talk.said() == [
        {"seq": 2, "done": [ref(1)], "failed": [{**ref(2), "error": "no", "final": True}], "pull": 3}
    ]
    talk.hear(ack=2)
    talk.session.finish(three, RELEASED)
    talk.now += 1
    assert talk.said() == [{"seq": 3, "released": [ref(3)], "pull": 4}]


def test_what_is_lost_is_cancelled_and_not_reported() -> None:
    talk = Talk()
    talk.welcome()
    talk.said()
    one, two = talk.assign(1, 2)
    talk.session.disconnected(al.Unavailable("lost"))
    events = talk.welcome(resumed=[ref(2)], lost=[ref(1)])
    assert events[0] == Cancel(one, "lost")
    talk.session.finish(one, done("1"))
    assert talk.said() == [{"pull": 3}]


def test_a_server_that_forgot_the_worker_gets_a_new_one() -> None:
    talk = Talk()
    talk.welcome()
    (one,) = talk.assign(1)
    talk.session.disconnected(al.Unavailable("lost"))
    events = talk.hear(error={"code": "unknown_worker", "message": "who?"})
    assert events[0] == Cancel(one, "lost") and isinstance(events[1], Lost)
    assert talk.session.disconnected(events[1].error) is not None
    assert "worker" not in json.loads(talk.session.hello())["hello"]


def test_one_bad_report_does_not_take_the_others_with_it() -> None:
    talk = Talk()
    talk.welcome()
    talk.said()
    for lease in talk.assign(1, 2):
        talk.session.finish(lease, done("7"))
    assert talk.said()[0]["seq"] == 1
    talk.hear(seq=1, error={"code": "too_large", "message": "too much"})
    assert talk.said() == [{"seq": 2, "done": [{**ref(1), "result": 7}]}]
    talk.hear(ack=2)
    assert talk.said() == [{"seq": 3, "done": [{**ref(2), "result": 7}]}]
    talk.hear(seq=3, error={"code": "too_large", "message": "too much"})
    (last,) = talk.said()
    assert last["failed"][0]["final"] and "too much" in last["failed"][0]["error"]


def test_what_comes_in_excess_is_given_back() -> None:
    talk = Talk(capacity=1)
    talk.welcome()
    talk.said()
    talk.assign(1, 2)
    assert talk.said() == [{"seq": 1, "released": [ref(2)]}]


def test_it_says_bye_once_all_is_told() -> None:
    talk = Talk()
    talk.welcome()
    talk.said()
    (one,) = talk.assign(1)
    assert isinstance(talk.hear(drain=True)[0], Drained)
    talk.session.drain()
    assert talk.said() == [{"pull": 0}]
    talk.session.finish(one, done())
    assert talk.said() == [{"seq": 1, "done": [ref(1)]}]
    talk.hear(ack=1)
    assert talk.said() == [{"bye": True}]


def test_it_gives_signs_of_life_often_enough_for_the_shortest_lease() -> None:
    talk = Talk()
    talk.welcome()
    talk.said()
    assert talk.session.next_beat(30) == talk.now + 7.5
    talk.assign(1, lease_ms=3000)
    assert talk.session.next_beat(30) == talk.now + 1.0
    assert not talk.session.needs_sign(talk.now + 0.9)
    assert talk.session.needs_sign(talk.now + 1.0)
    assert talk.session.beat(talk.now + 46, 30) is not None


def test_what_cannot_be_mended_is_raised_and_all_else_tried_again() -> None:
    talk = Talk()
    with pytest.raises(al.Unauthorized):
        talk.session.disconnected(al.Unauthorized("unauthorized", "no"))
    with pytest.raises(al.BadValue):
        talk.session.disconnected(al.BadValue("bad_value", "no"))
    assert talk.session.disconnected(al.Unavailable("away")) is not None
    talk.welcome()
    talk.session.disconnected(al.Unavailable("away"))
    assert talk.session.disconnected(al.BadValue("bad_value", "for now")) is not None


def test_what_the_server_can_not_is_not_said() -> None:
    for features, want in (([], None), (["retry_in_ms"], 1500)):
        talk = Talk()
        talk.welcome(features=features)
        talk.said()
        (one,) = talk.assign(1)
        talk.session.progress(one, {"done": 3})
        talk.session.finish(one, failed("later", 1.5))
        assert talk.said()[0]["failed"][0].get("retry_in_ms") == want


def test_headers_progress_and_refusals_are_events() -> None:
    talk = Talk()
    talk.welcome(features=["job_headers", "progress"])
    talk.said()
    headers, assigned = talk.hear(jobs=[{"id": "9", "tags": ["t"]}], tasks=[{**ref(1)}])
    assert isinstance(headers, Headers) and isinstance(assigned, Assigned)
    talk.session.progress(assigned.leases[0], {"done": 3, "of": 10})
    assert talk.said() == [{"extend": [{**ref(1), "progress": {"done": 3, "of": 10}}]}]
    # A while has to pass before more of it is told.
    for done_now in range(4, 7):
        talk.session.progress(assigned.leases[0], {"done": done_now, "of": -1, "note": "a\nb" + "é" * 100})
        assert talk.said() == []
    assert talk.session.next_beat(30) == talk.now + 0.25
    talk.now += 0.25
    plain = {"done": 6, "of": 0, "note": "a b" + "é" * 62}
    assert talk.said() == [{"extend": [{**ref(1), "progress": plain}]}]
    (refused,) = talk.hear(stale=[{**ref(1), "code": "stale"}], ack=0)
    assert isinstance(refused, ReportRefused)


def test_headers_are_asked_for_on_each_connection_of_a_server_that_has_them() -> None:
    for features, asks in ((["job_headers"], True), ([], False)):
        talk = Talk(wants_headers=True)
        for _ in range(2):
            talk.welcome(features=features)
            said = talk.said()
            assert [message.get("job_headers", False) for message in said] == [asks], said
            talk.session.disconnected(al.Unavailable("away"))


def test_ranges_know_what_was_there() -> None:
    from allotter.ranges import Ranges

    ranges, had = Ranges(), set()
    chance = random.Random(7)
    for _ in range(3000):
        index = chance.randrange(400)
        assert ranges.add(index) == (index not in had)
        had.add(index)
        listed = [i for one in ranges.first(1000) for i in range(one["from"], one["to"])]
        assert listed == sorted(had)
    assert len(ranges.first(1)) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"tasks": [{}]}', '{"welcome": {}}'])
def test_a_message_that_cannot_be_read_ends_the_connection(text: str) -> None:
    talk = Talk()
    assert isinstance(talk.session.receive(text, 0.0)[-1], Lost)
