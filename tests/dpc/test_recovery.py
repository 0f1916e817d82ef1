"""Cores that come back go on with what was kept of them (D65-D68, D74), and nothing that is said to them stops them."""

from __future__ import annotations

from types import UnionType

import pytest

from auroral.dpc.client import Client
from auroral.dpc.coverage import NOTHING
from auroral.dpc.events import (
    Deliver,
    Disconnected,
    DropStates,
    Effect,
    Evaluate,
    Evaluated,
    Keep,
    Kept,
    Logged,
    Received,
    Report,
    SaveState,
    Send,
    Started,
    Truncate,
    Woken,
)
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import MOST_BUCKETS, OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Ack,
    Ask,
    Confirm,
    Content,
    GiveState,
    Grant,
    Message,
    Ping,
    Pong,
    Prepare,
    Promise,
    Refuse,
    Snapshot,
    Stable,
    Subscribe,
    Tentative,
    Unsubscribe,
    Want,
    WantState,
)

SETTINGS = Settings(bucket=0.5, bound=3.0)


def rows(*hashes: int) -> tuple[Content, ...]:
    return tuple(Content(hash, 1) for hash in hashes)


def sent(effects: list[Effect], kind: type[Message] | UnionType) -> list[Message]:
    return [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, kind)]


def test_a_source_goes_on_with_its_log():
    """D74: a bucket that was logged and not sent before the crash is sent all the same; none is sent twice."""
    source = Source("s", ("a",), SETTINGS)
    source.handle(Started({"s": Kept(4, rows(14, 15))}), 0.0)
    effects = source.handle(Received("a", Subscribe("s", 1, Lane.BOTH, 5, False)), 0.1)
    assert sent(effects, Stable) == [Stable("s", 1, 5, rows(15), (SETTINGS.oldest,))]
    assert source.handle(Logged(5, *rows(15), True), 0.2) == [Report("logged again", "s")]
    assert sent(source.handle(Logged(6, *rows(16), True), 0.3), Stable) == [Stable("s", 1, 6, rows(16))]


def client(*, kept: dict[str, Kept]) -> tuple[Client, list[Effect]]:
    found = Client("c", {"o": ("a",)}, SETTINGS)
    found.handle(Started(kept), 0.0)
    return found, found.handle(Received("a", Pong({"o": Offer(State.STABLE, True, 9, 2)}, {})), 0.1)


def test_a_client_goes_on_behind_what_it_was_given():
    found, effects = client(kept={"o": Kept(7)})
    assert sent(effects, Subscribe) == [Subscribe("o", 1, Lane.BOTH, 7, False)]
    effects = found.handle(Received("a", Stable("o", 1, 7, rows(17))), 0.2)
    assert [e for e in effects if isinstance(e, Deliver)] == [Deliver("o", 7, *rows(17), True)]


def test_a_client_without_a_position_begins_with_what_is_kept_for_it():
    found, effects = client(kept={})
    assert sent(effects, Subscribe) == [Subscribe("o", 1, Lane.BOTH, None, False)]
    assert sent(found.handle(Woken(), 0.25), Ping) == [Ping({}, {"o": 1})], "it does not know yet what it needs"
    effects = found.handle(Received("a", Stable("o", 1, 2, rows(12))), 0.3)
    assert [e for e in effects if isinstance(e, Deliver)] == [Deliver("o", 2, *rows(12), True)]


def replica(durable: bool = True, kept: dict[str, Kept] | None = None, recovering: bool = True) -> Replica:
    """Windows of three buckets."""
    output = OutputSpec("o", {"s": 3}, (frozenset("s"),), ("reader",))
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, durable=durable)
    found = Replica(spec, SETTINGS, recovering)
    found.handle(Started(kept or {}), 0.0)
    return found


def told(found: Replica, begin: int, *hashes: int, position: int | None = None) -> list[Effect]:
    """The source is further by as many buckets as it gives; it is asked for those from `position` on."""
    offer = Offer(State.STABLE, True, begin + len(hashes), begin)
    effects = found.handle(Received("S", Pong({"s": offer}, {})), 0.1)
    assert sent(effects, Subscribe) == [Subscribe("s", 1, Lane.BOTH, position, False)]
    first = begin if position is None else position
    return found.handle(Received("S", Stable("s", 1, first, rows(*hashes[first - begin :]))), 0.2)


def test_a_replica_goes_on_behind_what_is_on_its_disk():
    """D65: it is mute until it is as far as its input."""
    found = replica(kept={"o": Kept(5, rows(35, 36))})
    told(found, 4, 14, 15, 16, 17, position=5)
    assert (found.outlets["o"].kept_from, found.outlets["o"].frontier) == (5, 7)
    assert not found.recovering, "one bucket behind is as far as anyone is"
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end) == (7, 8)


def test_what_leaves_a_hole_behind_it_is_given_up():
    """The disk is older than what the input still has."""
    found = replica(kept={"o": Kept(2, rows(32))})
    effects = told(found, 4, 14, 15, 16, 17)
    assert Truncate("o", 6) in effects
    assert (found.outlets["o"].kept_from, found.outlets["o"].frontier) == (6, 6)
    assert found.recovering


@pytest.mark.parametrize(("durable", "need"), [(True, 5), (False, 1)])
def test_who_has_a_disk_needs_less_of_its_inputs(durable: bool, need: int):
    """Otherwise all that its readers may ask for must be computed again."""
    found = replica(durable, {"o": Kept(0, rows(*range(30, 37)))}, recovering=False)
    found.handle(Received("reader", Ping({"o": Ack(3, 0.0)}, {})), 0.05)
    (ping,) = sent(found.handle(Woken(), 1.0), Ping)
    assert isinstance(ping, Ping) and ping.acks["s"].need == need


def test_a_replica_that_nobody_gives_its_input_to_begins_with_what_is_asked_of_it():
    """Else it would be mute for as long as the failure lasts."""
    found = two_inputs(s=1, t=1)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 9, 4)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 4, rows(4, 5, 6, 7, 8))), 0.2)
    found.handle(Received("reader", Ping({"o": Ack(6, 0.0)}, {})), 0.3)
    found.handle(Woken(), SETTINGS.detection)
    assert found.recovering, "whoever gives t may still answer"
    found.handle(Woken(), 2.2)
    assert not found.recovering
    assert (found.outlets["o"].frontier, found.ports["t"].frontier) == (6, 6)


@pytest.mark.parametrize(
    "message",
    [
        Subscribe("nothing", 1, Lane.BOTH, 0, False),
        Subscribe("o", 1, Lane.BOTH, -1, False),
        Unsubscribe("nothing", 1),
        Want("nothing", 1, 0),
        Want("o", 1, -3),
        Stable("nothing", 1, 0, rows(1)),
        Stable("s", 1, -1, rows(1)),
        Tentative("s", 1, 10**12, *rows(1), True, 0.0, NOTHING),
        Confirm("nothing", 1, 0, (1,)),
    ],
)
def test_what_cannot_be_is_refused(message: Message):
    found = replica(recovering=False)
    refused = [e for e in found.handle(Received("x", message), 0.1) if isinstance(e, Report)]
    assert [(r.kind, r.stream) for r in refused] == [("refused", message.stream)]  # type: ignore[union-attr]


def test_a_heartbeat_with_a_stream_that_is_not_known_is_answered():
    for core in (replica(recovering=False), Source("s", (), SETTINGS)):
        effects = core.handle(Received("x", Ping({"gone": Ack(0, 0.0)}, {"gone": 3})), 0.1)
        assert Report("refused", "gone", detail="x speaks of gone: it is not known here") in effects
        (pong,) = sent(effects, Pong)
        assert isinstance(pong, Pong) and pong.unknown == {}
    found, _ = client(kept={})
    assert Report("refused", "gone", detail="a speaks of gone: it is not known here") in found.handle(
        Received("a", Pong({}, {"gone": 1})), 0.2
    )


def test_one_that_came_back_learns_from_the_others_what_a_job_takes():
    """L5: else nothing is set aside for its first job, and that comes past the bound."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("reader",))
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, ("q2",))
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("stranger", Ping({}, {}, {}, 9.0)), 0.1)
    assert found.usual_job.highest == 0.0
    found.handle(Received("q2", Ping({}, {}, {}, 0.4)), 0.1)
    found.handle(Received("q2", Ping({}, {}, {}, 7.0)), 0.2)
    assert found.usual_job.highest == 0.4, "what it does not know itself"
    pings = [e for e in found.handle(Woken(), 1.0) if isinstance(e, Send) and isinstance(e.message, Ping)]
    assert {e.to: e.message.job for e in pings if isinstance(e.message, Ping)} == {"S": 0.0, "q2": 0.4}


def test_an_input_is_given_up_once_a_failure_would_have_been_noticed():
    found = replica(durable=False)
    found.handle(Received("reader", Ping({"o": Ack(6, 0.0)}, {})), 0.1)
    found.handle(Woken(), SETTINGS.detection)
    assert found.ports["s"].resuming
    found.handle(Woken(), SETTINGS.detection + 0.01)
    assert not found.ports["s"].resuming and found.ports["s"].frontier == 4, "the window before what is asked for"
    assert (found.outlets["o"].frontier, found.recovering) == (6, False)


def test_who_was_never_away_is_mute_at_no_time():
    found = replica(recovering=False)
    assert sent(found.handle(Received("x", Ping({}, {})), 0.1), Pong)
    assert not sent(replica().handle(Received("x", Ping({}, {})), 0.1), Pong), "D65"


def test_only_what_an_output_waits_for_begins_again_with_an_input():
    outputs = {name: OutputSpec(name, {name: 1}, (frozenset(name),), ()) for name in "st"}
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    for name in "st":
        found.handle(Received(name.upper(), Pong({name: Offer(State.STABLE, True, 9, 4)}, {})), 0.05)
        found.handle(Received(name.upper(), Stable(name, 1, 4, rows(4))), 0.06)
    assert found.recovering and [union.begun for union in found.unions.values()] == [True, True]
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE, True, 9, 7)}, {})), 0.07)
    assert [union.begun for union in found.unions.values()] == [False, True]
    assert (found.ports["s"].resuming, found.ports["t"].resuming) == (True, False)


def test_what_follows_on_the_disk_is_kept():
    """The first window that its inputs reach is the next."""
    found = replica(kept={"o": Kept(5, rows(35))})
    told(found, 4, 14, 15, 16, 17, position=4)
    assert (found.outlets["o"].kept_from, found.outlets["o"].frontier) == (5, 6)


def test_an_input_begins_again_only_when_nobody_has_its_next_bucket():
    found = replica()
    told(found, 4, 14, 15, 16, 17)
    for kept_from, resuming in ((8, False), (9, True)):
        found.recovering = True
        found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 20, kept_from)}, {})), 5.0 + kept_from)
        assert found.ports["s"].resuming is resuming


def two_inputs(**horizons: int) -> Replica:
    outputs = {"o": OutputSpec("o", horizons, (frozenset("st"),), ("reader",))}
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    return found


def test_an_output_begins_with_the_first_bucket_that_all_its_inputs_reach():
    found = two_inputs(s=1, t=2)
    for name, begin, frontier in (("s", 4, 9), ("t", 5, 8)):
        found.handle(Received(name.upper(), Pong({name: Offer(State.STABLE, True, frontier, begin)}, {})), 0.01)
        found.handle(Received(name.upper(), Stable(name, 1, begin, rows(*range(begin, frontier)))), 0.02)
    assert found.outlets["o"].frontier == 6
    assert found.recovering, "t is at 8, and the output at 6"
    (job,) = found.jobs.running.values()
    effects = found.handle(Evaluated(1, {"o": rows(36, 37)}), 0.03)
    kept = next(effect for effect in effects if isinstance(effect, Keep))
    assert (job.begin, job.end) == (6, 8) and (kept.stream, kept.begin, kept.contents) == ("o", 6, rows(36, 37))
    assert not found.recovering, "as far as the input that is behind"


def test_one_that_is_reached_is_waited_for():
    """It may give the input later: what it keeps is not known without it."""
    found = two_inputs(s=1, t=1)
    found.handle(Received("reader", Ping({"o": Ack(6, 0.0)}, {})), 0.05)
    found.handle(Received("T", Pong({}, {})), 0.06)
    for tick in range(20):
        found.handle(Received("T", Pong({}, {})), 0.1 * tick + 0.1)
    assert (found.ports["s"].resuming, found.ports["t"].resuming) == (False, True)
    found.handle(Disconnected("T"), 2.2)
    found.handle(Woken(), 2.3)
    assert not found.ports["t"].resuming


def begun_without_t(t_begins: int) -> Replica:
    """It came back, was told of s and not of t, and was not heard of by its reader; then t came back."""
    found = two_inputs(s=1, t=2)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 9, 4)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 4, rows(4, 5, 6, 7, 8))), 0.2)
    found.handle(Woken(), 2.0)
    assert (found.outlets["o"].frontier, found.recovering) == (4, False), "what it needed of s, S knows"
    found.handle(Received("reader", Subscribe("o", 1, Lane.BOTH, None, False)), 2.1)
    found.handle(Received("reader", Ping({"o": Ack(6, 0.0)}, {})), 2.2)
    assert found.ports["t"].resuming, "who gives t will say"
    assert not sent(found.handle(Received("x", Prepare(1, 1)), 2.3), Promise), "it may have been further"
    (guess,) = [e for e in found.handle(Woken(), 2.9) if isinstance(e, Evaluate)]
    assert guess.tentative and (guess.begin, guess.end) == (4, 9)
    found.handle(Evaluated(guess.job, {"o": rows(34, 35, 36, 37, 38)}), 2.95)
    assert found.outlets["o"].newest == 8
    effects = found.handle(Received("T", Pong({"t": Offer(State.STABLE, True, 9, t_begins)}, {})), 3.0)
    assert sent(effects, Subscribe) == [Subscribe("t", 1, Lane.BOTH, None, False)]
    found.handle(Received("T", Stable("t", 1, t_begins, rows(*range(t_begins, 9)))), 3.1)
    assert sent(found.handle(Received("x", Prepare(1, 1)), 3.2), Promise)
    return found


def test_an_output_that_began_without_an_input_goes_on_when_it_is_back():
    found = begun_without_t(3)
    assert (found.outlets["o"].frontier, found.outlets["o"].newest) == (4, 8)
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end, job.tentative) == (4, 9, False)


def test_what_an_input_that_is_back_does_not_have_any_more_nobody_asks_for():
    """The one that was there knew of an earlier need than the one that was away: that is no gap."""
    found = begun_without_t(5)
    assert (found.outlets["o"].kept_from, found.outlets["o"].frontier) == (6, 6)
    assert found.outlets["o"].newest == 8, "what was guessed is not guessed again"
    (job,) = found.jobs.running.values()
    assert (job.begin, job.end, job.tentative) == (6, 9, False)
    effects = found.handle(Evaluated(2, {"o": rows(36, 37, 99)}), 3.3)
    assert sent(effects, Confirm | Stable) == [
        Confirm("o", 1, 6, (36, 37)),
        Stable("o", 1, 8, rows(99), (SETTINGS.oldest,)),
    ]


def test_an_output_that_cannot_begin_does_not_keep_others_mute():
    """What is made from t alone cannot be given, and where it begins is not known: nothing is said of it."""
    required = (frozenset("st"),), ("reader",)
    outputs = {"o": OutputSpec("o", {"s": 1, "t": 1}, *required), "p": OutputSpec("p", {"t": 1}, *required)}
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 9, 4)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 4, rows(4, 5, 6, 7, 8))), 0.2)
    found.handle(Woken(), 2.0)
    (pong,) = sent(found.handle(Received("reader", Ping({}, {})), 2.1), Pong)
    assert isinstance(pong, Pong) and list(pong.offers) == ["o"]
    found.handle(Received("T", Pong({"t": Offer(State.STABLE, True, 9, 3)}, {})), 2.2)
    found.handle(Received("T", Stable("t", 1, 3, rows(*range(3, 9)))), 2.3)
    assert {name: outlet.frontier for name, outlet in found.outlets.items()} == {"o": 4, "p": 3}
    (pong,) = sent(found.handle(Received("reader", Ping({}, {})), 2.4), Pong)
    assert isinstance(pong, Pong) and list(pong.offers) == ["o", "p"]


def test_who_hears_of_no_input_is_mute():
    found = two_inputs(s=1, t=1)
    for now in (2.0, 20.0):
        found.handle(Woken(), now)
        assert found.recovering


def test_with_a_disk_it_is_known_where_to_begin_whoever_was_not_heard_of():
    found = replica(kept={"o": Kept(5, rows(35, 36))})
    found.handle(Woken(), SETTINGS.detection)
    assert found.ports["s"].resuming and found.recovering
    found.handle(Woken(), SETTINGS.detection + 0.01)
    assert (found.ports["s"].frontier, found.outlets["o"].frontier, found.recovering) == (5, 7, False)


def folding(states: dict[str, Snapshot]) -> Replica:
    """Two inputs, of which s can be read from bucket 21 on."""
    outputs = {"o": OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ("reader",), folds=True)}
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs, ("p",))
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started({}, states), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 30, 21)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 21, rows(*range(21, 30)))), 0.2)
    return found


def test_a_fold_with_a_snapshot_begins_without_an_input():
    found = folding({"o": Snapshot(21, Content(7, 1))})
    found.handle(Woken(), 2.0)
    assert (found.outlets["o"].frontier, found.ports["t"].frontier, found.recovering) == (21, 21, False)


def test_a_fold_without_a_state_asks_for_one_while_an_input_is_away():
    found = folding({})
    effects = found.handle(Woken(), 2.0)
    assert sent(effects, WantState) == [WantState("o")] and found.recovering
    found.handle(Received("p", GiveState("o", Snapshot(24, Content(7, 1)))), 2.1)
    assert (found.outlets["o"].frontier, found.ports["t"].frontier, found.recovering) == (24, 24, False)


def test_what_lies_before_the_first_bucket_that_can_be_made_is_not_asked_for():
    """D69: nobody gives s, so that it begins with what a reader needs; t begins later, and so does what is made from both. Whoever gives
    s may have forgotten what lies between."""
    output = OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ("r",))
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output})
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("r", Ping({"o": Ack(34, 0.0)}, {})), 0.1)
    found.handle(Received("T", Pong({"t": Offer(State.STABLE, True, 60, 51)}, {})), 2.0)
    assert found.ports["s"].frontier == 34
    found.handle(Received("T", Stable("t", 1, 51, ())), 2.1)
    effects = found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 60, 51)}, {})), 2.2)
    (asked,) = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Subscribe)]
    assert (asked.stream, asked.position) == ("s", 51)


def test_a_state_that_another_replica_gave_is_written_down():
    """D67: or it would be gone with all those that have it in memory."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True)
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, ("p",)), SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 60, 51)}, {})), 0.1)
    found.handle(Received("S", Stable("s", 1, 51, ())), 0.2)
    snapshot = Snapshot(52, Content(7, 1))
    effects = found.handle(Received("p", GiveState("o", snapshot)), 0.3)
    assert SaveState("o", snapshot) in effects and DropStates("o", 52) in effects


def test_connections_have_a_second_to_be_there_again():
    """However soon a failure would be noticed: who has not answered yet may be further than all that have."""
    output = OutputSpec("o", {"s": 3}, (frozenset("s"),), ("reader",))
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output})
    found = Replica(spec, Settings(bucket=0.1, bound=2.0), recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("reader", Ping({"o": Ack(6, 0.0)}, {})), 0.1)
    found.handle(Woken(), 1.0)
    assert found.recovering and found.ports["s"].resuming
    found.handle(Woken(), 1.01)
    assert not found.ports["s"].resuming


def test_who_is_mute_grants_no_turn():
    """Nobody would answer while the other corrects."""
    effects = replica().handle(Received("p", Ask(3, 5.0)), 0.1)
    assert sent(effects, Refuse | Grant) == [Refuse(3)]


def test_a_replica_that_comes_back_takes_as_much_at_once_as_it_can_and_guesses_nothing():
    """It is mute: nobody would read what it guesses, and nothing waits for its jobs."""
    found, many = replica(), 3 * MOST_BUCKETS
    # As slow as jobs of a JVM that has just begun.
    found.unions["o"].sizing.learn(20_000, 10.0, 0.1)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, many, 0)}, {})), 0.1)
    contents = tuple(Content(bucket, 1_000) for bucket in range(many))
    effects, now, made = found.handle(Received("S", Stable("s", 1, 0, contents, (2.9,) * many)), 0.2), 0.2, 0
    while found.recovering:
        (job,) = [effect for effect in effects if isinstance(effect, Evaluate)]
        assert (job.tentative, job.begin, job.end) == (False, made, made + MOST_BUCKETS)
        now, made = now + 2.0, job.end
        # Whatever has been waited for longer than X by now.
        assert not [effect for effect in found.handle(Woken(), now) if isinstance(effect, Evaluate)]
        effects = found.handle(Evaluated(job.job, {"o": contents[job.begin : job.end]}), now)
    assert made == many
