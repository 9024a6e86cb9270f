"""Replays: what is recorded is what was, in little room, and damage is told in a sentence."""

import json
import struct
import zlib
from dataclasses import replace

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
from kinfolk.replay.format import (
    FRAMES,
    MAGIC,
    SERIES,
    decode_arrays,
    decode_cell_changes,
    delta_decode,
    delta_encode,
    encode_arrays,
    encode_cell_changes,
)
from kinfolk.replay.reader import Replay, find_replay
from kinfolk.replay.record import record_episode, replay_of
from kinfolk.replay.recorder import ALIVE, ENDED, ReplayOptions, ReplayRecorder

TASK = evaluation_task(WorldRef("probe"), {"all": resolve("kin://probe-explaining")}, 3, range(1))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("replay") / "game.replay"
    path.write_bytes(b"".join(replay_of(TASK, 2)))
    return Replay(path)


def test_every_frame_is_the_world_as_it_was(recorded):
    columns = recorded.columns(0)
    with EpisodeRunner(replace(TASK, episodes=(2,))) as runner:
        play = runner.loop
        play.start_episodes()
        for frame in range(recorded.frames):
            shown, now = play.world.render_frame(0), play.world.columns
            rows = columns["uid"].shape[1]
            here = now.uid[:rows] >= 0
            assert (now.uid[rows:] < 0).all()
            assert columns["cells"][frame].tolist() == shown.cells.reshape(-1).tolist()
            assert columns["uid"][frame].tolist() == np.where(here, now.uid[:rows], -1).tolist()
            assert columns["cell"][frame][here].tolist() == shown.cell[:rows][here].tolist()
            assert (
                columns["attribute/energy"][frame][here].tolist()
                == shown.attributes[0][:rows][here].tolist()
            )
            state = np.where(now.alive, ALIVE, np.where(now.uid >= 0, ENDED, 0))
            assert columns["state"][frame].tolist() == state[:rows].tolist()
            if frame + 1 < recorded.frames:
                play.tick()
                chosen = columns["action/move"][frame]
                asked = play.slot_rows.row[0, : play.slot_rows.n_rows[0]]
                assert chosen[asked].tolist() == play.actions[asked, 0].tolist()
                assert (np.delete(chosen, asked) == -1).all()


def test_recording_does_not_change_the_game(recorded):
    [played] = run_evaluation(replace(TASK, episodes=(2,))).episodes
    ended = recorded.result()["result"]
    assert (ended["ticks"], ended["returns"]) == (played.ticks, played.returns)
    assert ended["counters"] == played.counters


def test_lives_and_populations_are_those_that_were_watched(recorded):
    watched = trace_episode(TASK, 2)
    numbers, notes = recorded.series(0)
    assert numbers["ticks"].tolist() == list(range(watched.report.ticks + 1))
    assert numbers["series"][:2].T.tolist() == watched.populations.tolist()
    born = {row[0]: row for row in numbers["born"].tolist()}
    died = {row[0]: row for row in numbers["died"].tolist()}
    assert set(born) == set(watched.family.members)
    for one in watched.family:
        uid, tick, group, *parents = born[one.uid]
        assert (tick, recorded.head()["groups"][group]) == (one.origin_time, one.group)
        assert tuple(p for p in parents if p >= 0) == one.parents
        assert (died[uid][1] if uid in died else None) == one.destruction_time
    assert notes["causes"] == sorted({m.cause for m in watched.family if m.cause})


def test_reasons_are_those_of_the_frame_that_was_seen(recorded):
    columns = recorded.columns(0)
    lived, verdict = columns["why/0/lived"], columns["why/outcome"].reshape(recorded.frames, -1, 2)
    alive = columns["state"] == ALIVE
    told = lived >= 0
    assert (told[:-1] == alive[:-1]).all()
    assert not told[-1].any(), "nobody decides in the last frame"
    wanders = told & (lived % 5 == 0)
    assert wanders.any()
    assert (verdict[wanders] == [0, 2]).all()
    assert (verdict[told & ~wanders] == [1, 0]).all()


def test_a_thinned_replay_keeps_each_nth_tick_all_events_and_the_end(recorded, tmp_path):
    path = tmp_path / "thin.replay"
    path.write_bytes(
        b"".join(replay_of(TASK, 2, ReplayOptions(record_every=7, with_explanations=False)))
    )
    thin = Replay(path)
    ticks = recorded.result()["result"]["ticks"]
    assert thin.series(0)[0]["ticks"].tolist() == sorted({*range(0, ticks + 1, 7), ticks})
    kept, whole = thin.columns(0), recorded.columns(0)
    rows = kept["uid"].shape[1]
    assert kept["uid"][1].tolist() == whole["uid"][7][:rows].tolist()
    assert "why/considered" not in kept
    assert thin.events(0) == recorded.events(0)
    assert thin.series(0)[0]["born"].tolist() == recorded.series(0)[0]["born"].tolist()


def test_events_are_those_of_the_world(recorded):
    with EpisodeRunner(replace(TASK, episodes=(2,))) as runner:
        play = runner.loop
        play.world.record_events(True)
        heard = []
        while not play.is_done:
            play.tick()
            heard += [(h.tick, h.kind, h.uid, h.other, h.value) for h in play.world.events()]
    found = recorded.events(0)
    assert [(e["tick"], e["kind"], e["uid"], e["other"], e["value"]) for e in found] == heard


def test_long_games_are_cut_into_chunks_that_meet(tmp_path):
    path = tmp_path / "long.replay"
    rules = {"max_ticks": 400, "growth": 1.0, "max_age": 1000, "hunters": 0}
    task = replace(TASK, world=WorldRef("probe", settings=rules))
    path.write_bytes(b"".join(replay_of(task, 0)))
    replay = Replay(path)
    firsts = [part.header.first for part in replay.records[FRAMES]]
    assert firsts == [0, 128, 256, 384]
    assert replay.frames == replay.result()["result"]["ticks"] + 1
    ticks = [t for i in range(len(firsts)) for t in replay.series(i)[0]["ticks"].tolist()]
    assert ticks == list(range(replay.frames))
    frames = [e["tick"] for i in range(len(firsts)) for e in replay.events(i)]
    assert frames == sorted(frames)


def test_it_can_be_read_while_it_is_written(tmp_path):
    path = tmp_path / "live.replay"
    rules = {"max_ticks": 300, "growth": 1.0, "max_age": 1000, "hunters": 0}
    task = replace(TASK, world=WorldRef("probe", settings=rules))
    pieces = list(replay_of(task, 0))
    path.write_bytes(pieces[0])
    replay = Replay(path)
    assert (replay.frames, replay.is_complete, replay.head()["world"]) == (0, False, "probe")
    whole = b"".join(pieces)
    for size in range(len(pieces[0]), len(whole), 97):
        path.write_bytes(whole[:size])
        replay.refresh()
        assert replay.frames in (0, 128, 256, 301)
    path.write_bytes(whole)
    assert replay.refresh()
    assert (replay.frames, replay.is_complete) == (301, True)
    path.write_bytes(pieces[0])  # a run that was resumed begins its game again
    replay.refresh()
    assert (replay.frames, replay.is_complete) == (0, False)


def test_pieces_for_a_job_are_the_file():
    pieces = list(record_episode(TASK, 2, "showcase-00001"))
    assert {piece.path for piece in pieces} == {"replays/showcase-00001.replay"}
    assert [piece.append for piece in pieces] == [False] + [True] * (len(pieces) - 1)
    assert b"".join(piece.data for piece in pieces) == b"".join(replay_of(TASK, 2))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: b"GIF89a and so on, as no replay begins", "is not a replay of kinfolk."),
        (lambda data: data.replace(MAGIC, b"kinfolk replay 9\n"), "has format 9; this kinfolk reads 1."),
        (lambda data: MAGIC + b"JUNK" + data[21:], "is damaged at byte 17."),
        (lambda data: data[:60] + b"\xff" + data[61:],
         "is damaged: the HEAD record of frame 0 is not what was written."),
        (lambda data: MAGIC, "is cut short: it has no head."),
    ],
)  # fmt: skip
def test_damage_is_told_in_a_sentence(recorded, tmp_path, damage, sentence):
    path = tmp_path / "bad.replay"
    path.write_bytes(damage(recorded.path.read_bytes()))
    with pytest.raises(DamagedRunError) as caught:
        Replay(path).head()
    assert str(caught.value) == f"{path} {sentence}"


def test_a_broken_frame_is_found_when_it_is_asked_for(recorded, tmp_path):
    data = bytearray(recorded.path.read_bytes())
    data[recorded.records[FRAMES][0].offset + 5] ^= 1
    path = tmp_path / "bad.replay"
    path.write_bytes(bytes(data))
    replay = Replay(path)
    assert replay.head()["world"] == "probe"
    with pytest.raises(DamagedRunError, match="the FRAM record of frame 0 is not what was written"):
        replay.columns(0)


def test_what_is_not_there_is_said(tmp_path):
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


def test_a_world_without_a_scene_cannot_be_recorded():
    class Blind:
        spec = type("Spec", (), {"world": "blind"})

    with pytest.raises(UsageError, match=r"^World blind has no scene, so it cannot be recorded\.$"):
        ReplayRecorder(type("Play", (), {"world": Blind(), "slots": ()})(), {})


whole = st.integers(-(2**30), 2**30)


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=whole))
def test_columns_come_back_as_they_were(values):
    arrays, _ = decode_arrays(encode_arrays(delta_encode("x", values), {}))
    assert delta_decode("x", arrays).tolist() == values.tolist()


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_cells_come_back_as_they_were(cells):
    arrays, _ = decode_arrays(encode_arrays(encode_cell_changes(cells), {}))
    assert decode_cell_changes(arrays, len(cells)).tolist() == cells.tolist()


def test_the_form_is_as_it_is_documented(recorded):
    """Read by hand, as the page does: prefix, deflated payload, table of contents."""
    data = recorded.path.read_bytes()
    kind, length, checksum, first, frames = struct.unpack_from("<4sIIII", data, len(MAGIC))
    payload = data[len(MAGIC) + 20 :][:length]
    assert (kind, checksum, first, frames) == (b"HEAD", zlib.crc32(payload), 0, 0)
    assert json.loads(zlib.decompress(payload))["world"] == "probe"
    at = len(MAGIC) + 20 + length
    assert struct.unpack_from("<4sIIII", data, at)[0] == SERIES
