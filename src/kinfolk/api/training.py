"""`kf.train` and `kf.Trainer`: nets that learn by PPO."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from kinfolk.api.frames import to_html
from kinfolk.api.own_objects import name_world
from kinfolk.api.results import JobResult, run_job, signature_of
from kinfolk.core.errors import UsageError
from kinfolk.core.events import Event, FileChunk, Snapshot
from kinfolk.core.settings import validate_settings
from kinfolk.engines import opened_engine
from kinfolk.engines.base import Engine
from kinfolk.evaluation.export import ColumnTable
from kinfolk.evaluation.statistics import Estimate
from kinfolk.jobs.train.job import describe_idle_jobs
from kinfolk.jobs.train.job import train as train_job
from kinfolk.jobs.train.league.job import LeagueLoop
from kinfolk.jobs.train.league.state import League
from kinfolk.jobs.train.reports import TrainingDone
from kinfolk.jobs.train.settings import Train
from kinfolk.jobs.train.trainer import Rollout, TrainingLoop
from kinfolk.play.slots import PolicySlot
from kinfolk.store.run import new_run_folder
from kinfolk.training.opponents import OpponentPool
from kinfolk.training.profiles import name_losses

if TYPE_CHECKING:
    from kinfolk.api.job_arguments import TrainArguments
    from kinfolk.worlds.gymnasium_task.own_tasks import EnvSource


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainingResult(JobResult, TrainingDone):
    """How a training ended; its nets play as `run:FOLDER[/SLOT][@best|@latest|@STEP]`."""

    def columns(self) -> ColumnTable:
        """Return a row per update as columns, if the training was stored; else how it ended."""
        if self.run is not None:
            return self.run.table("update_done")
        table: dict[str, list[Any]] = {}
        for name, value in self._list_facts():
            if isinstance(value, Estimate):
                table |= {f"{name}/{part}": [number] for part, number in value._asdict().items()}
            else:
                table[name] = [value]
        return table

    def _list_facts(self) -> list[tuple[str, Any]]:
        """Return how the training ended, without the hashes of its weights."""
        hidden = ("kind", "step", "weights", "run", "failure_messages", "return_per_life")
        facts = [(name, value) for name, value in self.to_dict().items() if name not in hidden]
        returns = self.return_per_life.items()
        return [*facts, *((f"return_per_life/{slot}", estimate) for slot, estimate in returns)]

    def _repr_html_(self) -> str:
        facts = [*self._list_facts(), ("run", None if self.run is None else self.run.folder)]
        return to_html(("result", "value"), facts, type(self).__name__)


def _train(settings: Train, engine: Engine) -> Iterator[Event | Snapshot | FileChunk]:
    """Run a training, as the job does, and warn if some workers have nothing to do."""
    _warn_of_idle_jobs(settings, engine)
    return train_job(settings, engine)


def _warn_of_idle_jobs(settings: Train, engine: Engine) -> None:
    """Warn if some jobs of the engine collect no rollouts."""
    text = describe_idle_jobs(settings, engine.jobs)
    if text:
        warnings.warn(text, stacklevel=3)


@signature_of(Train)
def train(
    world: str | EnvSource = "probe",
    *,
    env_kwargs: Mapping[str, Any] | None = None,
    engine: str | Engine | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
    **settings: Unpack[TrainArguments],
) -> TrainingResult:
    """Train nets by PPO: one for all agents, or several slots side by side.

    Args:
        world: World to play in, a Gymnasium task as gym:ID, or an environment of your own: its
            class, a function that makes it, or an instance.
        env_kwargs: Keyword arguments of the Gymnasium task.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        out: Folder for the run; without it a new one in `runs`.
        settings: Fields of `kf.jobs.Train`; see `kinfolk settings train`. In a table of `slots`, a
            policy, or its `class_path`, may also be a torch module: its class, a function that makes
            it, or an instance; `slots=Net` is short for `slots={"main": Net}`. `loss_profiles` may
            list functions.

    Returns:
        How the training ended, with the run that holds its nets.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """
    chosen = _read_settings(world, env_kwargs, dict(settings))
    folder = new_run_folder("train") if out is None else out
    return run_job(
        TrainingResult, "train", _train, chosen, engine, jobs, folder, may_rename=out is None
    )


class Trainer(TrainingLoop):
    """A training that you drive: `for event in trainer`, or `trainer.learn(trainer.collect())`.

    Nothing is stored; `kf.train` stores a run.

    Args:
        world: World to play in, a Gymnasium task as gym:ID, or an environment of your own: its
            class, a function that makes it, or an instance.
        env_kwargs: Keyword arguments of the Gymnasium task.
        engine: Engine that runs the tasks: local, processes, ray, or one of `kf.make_engine`; by
            default processes if `jobs` is more than 1, else local.
        jobs: Tasks that run at once.
        settings: Fields of `kf.jobs.Train`; see `kinfolk settings train`. In a table of `slots`, a
            policy, or its `class_path`, may also be a torch module: its class, a function that makes
            it, or an instance; `slots=Net` is short for `slots={"main": Net}`. `loss_profiles` may
            list functions.

    Raises:
        UsageError: A setting, world or policy is wrong.
    """

    def __init__(
        self,
        world: str | EnvSource = "probe",
        *,
        env_kwargs: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
        jobs: int | None = None,
        **settings: Unpack[TrainArguments],
    ) -> None:
        chosen, self._league = _read_settings(world, env_kwargs, dict(settings)), None
        self._resources = ExitStack()
        workers = self._resources.enter_context(opened_engine(engine, jobs))
        _warn_of_idle_jobs(chosen, workers)
        if not chosen.league:
            super().__init__(chosen, workers)
            return
        self.settings = chosen
        self._league = LeagueLoop(chosen, workers)
        self.state = self._league.loops[0].state

    @property
    def league(self) -> League:
        """Members, win rates and payoffs of a league.

        Raises:
            UsageError: The training has no league.
        """
        if self._league is None:
            raise UsageError("This training has no league: it was made without league=True.")
        return self._league.league

    def collect(self, pool: OpponentPool | None = None, copy: bool = True) -> Rollout:
        """Play `rollout_length` ticks in every world with the current nets, and return the rows.

        Args:
            pool: Opponents to play against; None for those of the training, if it has any.
            copy: Whether the rows are yours to keep. Without a copy the next rollout may overwrite
                them.

        Raises:
            UsageError: It is a league, in which every learner collects rows of its own.
        """
        if self._league is not None:
            raise UsageError(
                "A league has several learners, each with rows of its own: iterate over the trainer, or "
                "call update()."
            )
        return super().collect(pool, copy)

    def update(self, pool: OpponentPool | None = None) -> Iterator[Event]:
        """Collect and learn once, against `pool` if it is given; yield the events of this update."""
        return super().update(pool) if self._league is None else self._league.update()

    def run(self) -> Iterator[Event | Snapshot | FileChunk]:
        """Train to the end: yield events, policy files and snapshots, as a job does."""
        return super().run() if self._league is None else self._league.run()

    def close(self) -> None:
        """Stop all workers of the training."""
        if self._league is None:
            super().close()
        else:
            self._league.close()
        self._resources.close()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _read_settings(
    world: str | EnvSource, env_kwargs: Mapping[str, Any] | None, settings: dict[str, Any]
) -> Train:
    """Return the settings of a training, with objects of the user replaced by their names.

    Args:
        world: Name of a world, or an environment.
        env_kwargs: Keyword arguments of the environment.
        settings: Fields of `Train`.
    """
    world = name_world(world)
    for name in ("slots", "policy_slots"):
        if settings.get(name) is not None:
            settings[name] = _name_modules(settings[name])
    if isinstance(settings.get("loss_profiles"), Mapping):
        settings["loss_profiles"] = name_losses(settings["loss_profiles"])
    if env_kwargs:
        rules = {**(settings.get("world_settings") or {}), "env_kwargs": dict(env_kwargs)}
        settings["world_settings"] = rules
    return validate_settings(Train, {"world": world, **settings})


def _name_modules(slots: Any) -> Any:
    """Return a table or list of slots with the user's modules replaced by their names."""
    if callable(slots):
        slots = {"main": slots}
    if isinstance(slots, Mapping):
        return {slot: _name_module(value) for slot, value in slots.items()}
    return [_name_module(value) for value in slots] if isinstance(slots, list | tuple) else slots


def _name_module(slot: Any) -> Any:
    """Return a slot with a torch module, class or function replaced by its name.

    Args:
        slot: The module, or a table whose `policy_uri` or `class_path` it is, and whose `policy_kwargs`
            are its settings. Anything else is returned as it is.
    """
    if isinstance(slot, str | PolicySlot):
        return slot
    table = dict(slot) if isinstance(slot, Mapping) else {"class_path": slot}
    fields = [field for field in ("policy_uri", "class_path") if callable(table.get(field))]
    if not fields:
        return slot
    from kinfolk.policies.neural.own_modules import register_module

    kwargs = {"module": register_module(table.pop(fields[0]))}
    settings = table.pop("policy_kwargs", None)
    if settings:
        kwargs["settings"] = settings
    return {**table, "policy_uri": "kin://net", "policy_kwargs": kwargs}
