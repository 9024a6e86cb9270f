"""Reading the replays of the fixture `runs`."""

from kinfolk.replay.reader import Replay


def read_replay(runs, run, name="game-00000"):
    return Replay(runs / run / "replays" / f"{name}.replay")


def read_frame(replay, tick):
    """Return the columns of the frame that shows a tick."""
    for i, record in enumerate(replay.records[b"FRAM"]):
        frame = tick - record.header.first
        if 0 <= frame < record.header.frames:
            return {name: values[frame] for name, values in replay.columns(i).items()}
    raise AssertionError(f"no frame shows tick {tick}")
