"""Replays contain what was played, can be read while they are written, and damage is reported."""

import json
import re
import struct
import zlib
from dataclasses import replace
from hashlib import sha256

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from kinfolk.core.errors import DamagedRunError, UsageError
from kinfolk.evaluation.rollout import evaluation_task, run_evaluation
from kinfolk.evaluation.trajectory import trace_episode
from kinfolk.play.task import EpisodeRunner, WorldRef
from kinfolk.policies.resolve import resolve
from kinfolk.replay.codec import (
    DONE,
    FRAMES,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    SERIES,
    decode_arrays,
    decode_cell_changes,
    delta_decode,
    delta_encode,
    encode_arrays,
    encode_cell_changes,
    encode_json_record,
)
from kinfolk.replay.reader import Replay, find_replay
from kinfolk.replay.record import (
    ALIVE,
    ENDED,
    ReplayOptions,
    ReplayRecorder,
    record_episode,
    record_replay,
)

TASK = evaluation_task(WorldRef("probe"), {"all": resolve("kin://probe-explaining")}, 3, range(1))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "episode.replay"
    path.write_bytes(b"".join(record_replay(TASK, 2)))
    return Replay(path)


def test_every_frame_equals_the_state_of_the_world(recorded):
    columns = recorded.columns(0)
    with EpisodeRunner(replace(TASK, episodes=(2,))) as runner:
        play = runner.loop
        play.start_episodes()
        for frame in range(recorded.frames):
            shown, now = play.world.render_frame(0), play.world.columns
            rows = columns["uid"].shape[1]
            occupied = now.uid[:rows] >= 0
            assert (now.uid[rows:] < 0).all()
            assert columns["cells"][frame].tolist() == shown.cells.reshape(-1).tolist()
            assert columns["uid"][frame].tolist() == np.where(occupied, now.uid[:rows], -1).tolist()
            assert (
                columns["cell"][frame][occupied].tolist()
                == shown.agent_cell[:rows][occupied].tolist()
            )
            assert (
                columns["attribute/energy"][frame][occupied].tolist()
                == shown.attributes[0][:rows][occupied].tolist()
            )
            state = np.where(now.alive, ALIVE, np.where(now.uid >= 0, ENDED, 0))
            assert columns["state"][frame].tolist() == state[:rows].tolist()
            if frame + 1 < recorded.frames:
                play.tick()
                actions = columns["action/move"][frame]
                acting = play.slot_rows.row[0, : play.slot_rows.n_rows[0]]
                assert actions[acting].tolist() == play.actions[acting, 0].tolist()
                assert (np.delete(actions, acting) == -1).all()


def test_recording_does_not_change_the_episode(recorded):
    [played] = run_evaluation(replace(TASK, episodes=(2,))).episodes
    result = recorded.result()["result"]
    assert (result["ticks"], result["returns"]) == (played.ticks, played.returns)
    assert result["counters"] == played.counters


def test_births_deaths_and_populations_equal_those_of_a_trace(recorded):
    trace = trace_episode(TASK, 2)
    series, notes = recorded.series(0)
    assert series["ticks"].tolist() == list(range(trace.report.ticks + 1))
    assert series["series"][:2].T.tolist() == trace.populations.tolist()
    born = {row[0]: row for row in series["born"].tolist()}
    died = {row[0]: row for row in series["died"].tolist()}
    assert set(born) == set(trace.family.members)
    for member in trace.family:
        uid, tick, group, *parents = born[member.uid]
        assert (tick, recorded.head()["groups"][group]) == (member.origin_time, member.group)
        assert tuple(p for p in parents if p >= 0) == member.parents
        assert (died[uid][1] if uid in died else None) == member.destruction_time
    assert notes["causes"] == sorted({m.cause for m in trace.family if m.cause})


def test_explanations_belong_to_the_frame_that_was_observed(recorded):
    columns = recorded.columns(0)
    lived, outcome = columns["why/0/lived"], columns["why/outcome"].reshape(recorded.frames, -1, 2)
    alive = columns["state"] == ALIVE
    explained = lived >= 0
    assert (explained[:-1] == alive[:-1]).all()
    assert not explained[-1].any(), "no agent acts after the last frame"
    wanders = explained & (lived % 5 == 0)
    assert wanders.any()
    assert (outcome[wanders] == [0, 2]).all()
    assert (outcome[explained & ~wanders] == [1, 0]).all()


def test_a_thinned_replay_has_each_nth_tick_all_events_and_the_last_tick(recorded, tmp_path):
    path = tmp_path / "thin.replay"
    path.write_bytes(
        b"".join(record_replay(TASK, 2, ReplayOptions(record_every=7, with_explanations=False)))
    )
    thin = Replay(path)
    ticks = recorded.result()["result"]["ticks"]
    assert thin.series(0)[0]["ticks"].tolist() == sorted({*range(0, ticks + 1, 7), ticks})
    thinned, full = thin.columns(0), recorded.columns(0)
    rows = thinned["uid"].shape[1]
    assert thinned["uid"][1].tolist() == full["uid"][7][:rows].tolist()
    assert "why/considered" not in thinned
    assert thin.events(0) == recorded.events(0)
    assert thin.series(0)[0]["born"].tolist() == recorded.series(0)[0]["born"].tolist()


def test_events_are_those_of_the_world(recorded):
    with EpisodeRunner(replace(TASK, episodes=(2,))) as runner:
        play = runner.loop
        play.world.record_events(True)
        expected = []
        while not play.is_done:
            play.tick()
            expected += [(e.tick, e.kind, e.uid, e.other, e.value) for e in play.world.events()]
    events = recorded.events(0)
    assert [(e["tick"], e["kind"], e["uid"], e["other"], e["value"]) for e in events] == expected


def test_long_episodes_are_split_into_consecutive_chunks(tmp_path):
    path = tmp_path / "long.replay"
    task = replace(
        TASK,
        world=WorldRef(
            "probe", settings={"max_ticks": 400, "growth": 1.0, "max_age": 1000, "hunters": 0}
        ),
    )
    path.write_bytes(b"".join(record_replay(task, 0)))
    replay = Replay(path)
    firsts = [record.header.first for record in replay.records[FRAMES]]
    assert firsts == [0, 128, 256, 384]
    assert replay.frames == replay.result()["result"]["ticks"] + 1
    ticks = [t for i in range(len(firsts)) for t in replay.series(i)[0]["ticks"].tolist()]
    assert ticks == list(range(replay.frames))
    event_ticks = [e["tick"] for i in range(len(firsts)) for e in replay.events(i)]
    assert event_ticks == sorted(event_ticks)


def test_it_can_be_read_while_it_is_written(tmp_path):
    path = tmp_path / "live.replay"
    task = replace(
        TASK,
        world=WorldRef(
            "probe", settings={"max_ticks": 300, "growth": 1.0, "max_age": 1000, "hunters": 0}
        ),
    )
    chunks = list(record_replay(task, 0))
    path.write_bytes(chunks[0])
    replay = Replay(path)
    assert (replay.frames, replay.is_complete, replay.head()["world"]) == (0, False, "probe")
    data = b"".join(chunks)
    for size in range(len(chunks[0]), len(data), 97):
        path.write_bytes(data[:size])
        replay.refresh()
        assert replay.frames in (0, 128, 256, 301)
    path.write_bytes(data)
    assert replay.refresh()
    assert (replay.frames, replay.is_complete) == (301, True)
    path.write_bytes(chunks[0])  # a resumed run records the episode anew
    replay.refresh()
    assert (replay.frames, replay.is_complete) == (0, False)


def test_the_chunks_that_a_job_yields_make_up_the_file():
    chunks = list(record_episode(TASK, 2, "showcase-00001"))
    assert {chunk.path for chunk in chunks} == {"replays/showcase-00001.replay"}
    assert [chunk.append for chunk in chunks] == [False] + [True] * (len(chunks) - 1)
    assert b"".join(chunk.data for chunk in chunks) == b"".join(record_replay(TASK, 2))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"GIF89a is how another format begins", "is not a replay of kinfolk."),
        (lambda data: data.replace(MAGIC, b"kinfolk replay 1\n"), "has format 1; this kinfolk reads 5. Earlier "
         "formats hold games by former rules of their worlds; CHANGELOG.md says what changed."),
        (lambda data: MAGIC + b"JUNK" + data[21:],
         "is damaged at byte 17: the checksum of a record's header is wrong."),
        (lambda data: data[:21] + b"\xff" + data[22:],
         "is damaged at byte 17: the checksum of a record's header is wrong."),
        (lambda data: data[:120] + b"\xff" + data[121:],
         "is damaged: the HEAD record of frame 0 is not what was written."),
        (lambda data: MAGIC + 2 * data[17 : 97 + int.from_bytes(data[21:25], "little")] + data[-80:],
         "is damaged at byte {second}: a record does not continue those before it."),
        (lambda data: MAGIC, "is cut short: it has no head."),
    ],
)  # fmt: skip
def test_damage_is_reported_with_the_file_and_the_place(recorded, tmp_path, damage, message):
    path = tmp_path / "bad.replay"
    path.write_bytes(damage(recorded.path.read_bytes()))
    with pytest.raises(DamagedRunError) as caught:
        Replay(path).head()
    second = 97 + int.from_bytes(recorded.path.read_bytes()[21:25], "little")
    assert str(caught.value) == f"{path} {message.format(second=second)}"


def test_a_damaged_frame_is_found_when_it_is_read(recorded, tmp_path):
    data = bytearray(recorded.path.read_bytes())
    data[recorded.records[FRAMES][0].offset + 5] ^= 1
    path = tmp_path / "bad.replay"
    path.write_bytes(bytes(data))
    replay = Replay(path)
    assert replay.head()["world"] == "probe"
    with pytest.raises(DamagedRunError, match="the FRAM record of frame 0 is not what was written"):
        replay.columns(0)


def test_a_payload_of_another_record_is_refused(tmp_path):
    """Its deflate stream is whole, so that only the checksum in the header tells."""
    record, other = (encode_json_record(HEADER, {"world": name}) for name in ("probe", "plain"))
    assert len(record) == len(other)
    path = tmp_path / "one.replay"
    path.write_bytes(MAGIC + record[:HEADER_BYTES] + other[HEADER_BYTES:])
    with pytest.raises(DamagedRunError) as caught:
        Replay(path).head()
    assert str(caught.value) == (
        f"{path} is damaged: the HEAD record of frame 0 is not what was written."
    )
    path.write_bytes(MAGIC + other)
    assert Replay(path).head() == {"world": "plain"}


def test_a_replay_without_its_end_is_cut_short_if_its_run_is_done(recorded, tmp_path):
    (tmp_path / "replays").mkdir()
    path = tmp_path / "replays" / "game-00003.replay"
    data = recorded.path.read_bytes()
    path.write_bytes(data[: recorded.records[DONE][0].offset])
    replay = Replay(path)
    with pytest.raises(DamagedRunError) as caught:
        replay.require_complete()
    assert str(caught.value) == (
        f"{path} is cut short: it ends after {recorded.frames} frames. "
        f"To record it again, remove it and run: kinfolk view {tmp_path} --episode 3"
    )
    path.write_bytes(data)
    replay.require_complete()


def test_missing_replays_are_reported(tmp_path):
    with pytest.raises(UsageError, match=r"^There is no replay .*none.replay\.$"):
        Replay(tmp_path / "none.replay")
    (tmp_path / "replays").mkdir()
    with pytest.raises(
        UsageError, match=r"has no replays. Record one: kinfolk view .* --episode 0$"
    ):
        find_replay(tmp_path, None)
    (tmp_path / "replays" / "game-00000.replay").write_bytes(MAGIC)
    with pytest.raises(
        UsageError, match=r"has no replay 'gam'. Did you mean|has no replay 'gam'. Known"
    ):
        find_replay(tmp_path, "gam")


def test_a_world_without_a_render_spec_cannot_be_recorded():
    class Blind:
        spec = type("Spec", (), {"world": "blind"})

    sentences = (
        "World blind has no render_spec, so it cannot be recorded. docs/own_world.md shows one, and"
        " `kinfolk new world` writes one."
    )
    with pytest.raises(UsageError, match=f"^{re.escape(sentences)}$"):
        ReplayRecorder(type("Loop", (), {"world": Blind(), "slots": ()})(), {})


integers = st.integers(-(2**30), 2**30 - 1)  # so that differences fit into int32


@given(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=integers)
)
def test_delta_encoding_is_lossless(values):
    arrays, _ = decode_arrays(encode_arrays(delta_encode("x", values), {}))
    assert delta_decode("x", arrays).tolist() == values.tolist()


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_cell_changes_are_lossless(cells):
    arrays, _ = decode_arrays(encode_arrays(encode_cell_changes(cells), {}))
    assert decode_cell_changes(arrays, len(cells)).tolist() == cells.tolist()


def test_the_file_has_the_documented_layout(recorded):
    """Read it without the reader: header, deflated payload, next header."""
    data = recorded.path.read_bytes()
    start = len(MAGIC)
    kind, length, first, frames, checksum = struct.unpack_from("<4sIII32s", data, start)
    payload = data[start + 80 :][:length]
    assert (kind, first, frames, checksum) == (b"HEAD", 0, 0, sha256(payload).digest())
    assert data[start + 48 : start + 80] == sha256(data[start : start + 48]).digest()
    assert json.loads(zlib.decompress(payload))["world"] == "probe"
    second = start + 80 + length
    assert struct.unpack_from("<4s", data, second)[0] == SERIES
