"""Failures of policies over many episodes: counts by slot, records by event, and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from kinfolk.evaluation.comparison import CANDIDATE_SLOT, parse_team
from kinfolk.isolation.failures import WHOLE_SLOT
from kinfolk.play.results import EpisodeResult
from kinfolk.play.sides import slot_names

# Failures of one slot as JSON values: number of `failures`, of `episodes` with a failure or without
# any valid action, of episodes in which it `never_acted`, of failures by their `causes`, and the
# `first` failure (the fields of `Failure` and `episode`), None if it only returned invalid actions.
SlotFailures: TypeAlias = dict[str, Any]
FailedSlots: TypeAlias = dict[str, SlotFailures]
_NO_FAILURES: SlotFailures = {
    "failures": 0, "episodes": 0, "never_acted": 0, "causes": {}, "first": None
}  # fmt: skip
_ALWAYS = " failed in every "
_CAUSES = {"raised": "raised an error", "timeout": "took too long", "limit": "broke a limit"}
POLICY_SLOT = (
    "policy"  # under which a round robin or tournament counts a policy's failures on either side
)
_PLAYED_KINDS = ("episode_played", "candidate_played", "pair_played", "game_played")
_MEETING_KINDS = ("tournament_done", "crossplay_done")
SIDES = slot_names(2)  # slots of the two policies of a game of a round robin


def count_failures(earlier: Mapping[str, Any], reports: Iterable[EpisodeResult]) -> FailedSlots:
    """Count the failures of every slot that has any.

    Args:
        earlier: Counts of earlier episodes by slot, which are added.
        reports: Results of further episodes.
    """
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for report in reports:
        failed = [failure.slot for failure in report.failures]
        for slot in dict.fromkeys([*failed, *report.never_acted]):
            slot_counts = counts.setdefault(slot, {**_NO_FAILURES})
            slot_counts["failures"] += failed.count(slot)
            slot_counts["episodes"] += 1
            slot_counts["never_acted"] += slot in report.never_acted
            causes = Counter(failure.cause for failure in report.failures if failure.slot == slot)
            slot_counts["causes"] = _add_causes(slot_counts, causes)
            if slot_counts["first"] is None and slot in failed:
                first = report.failures[failed.index(slot)]
                slot_counts["first"] = {"episode": report.episode, **asdict(first)}
    return counts


def _add_causes(counts: SlotFailures, more: Mapping[str, int]) -> dict[str, int]:
    """Return the failures by cause, sorted; runs of earlier versions have not counted them."""
    return dict(sorted((Counter(counts.get("causes", {})) + Counter(more)).items()))


def count_policy_failures(
    reports: Iterable[EpisodeResult], side: str, opponent: str, mirrored: bool
) -> FailedSlots:
    """Count the failures of one policy in games of a round robin, under `POLICY_SLOT`.

    Args:
        reports: Results of games against one opponent.
        side: Slot of the policy.
        opponent: URI of the other policy.
        mirrored: Whether these are the games with sides exchanged.
    """
    counts = count_failures({}, reports).get(side)
    if counts is None:
        return {}
    if counts["first"] is not None:
        counts["first"] |= {"opponent": opponent, "mirrored": mirrored}
    return {POLICY_SLOT: counts}


def merge_failure_counts(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> FailedSlots:
    """Return the sum of the counts of two sets of episodes."""
    counts: FailedSlots = {slot: {**known} for slot, known in earlier.items()}
    for slot, more in later.items():
        slot_counts = counts.setdefault(slot, {**_NO_FAILURES})
        for name in ("failures", "episodes", "never_acted"):
            slot_counts[name] += more[name]
        slot_counts["causes"] = _add_causes(slot_counts, more.get("causes", {}))
        slot_counts["first"] = slot_counts["first"] or more["first"]
    return counts


def describe_failures(
    counts_by_slot: Mapping[str, Any],
    n_episodes: int,
    uris: Mapping[str, str],
    unit: str = "episode",
) -> Iterator[str]:
    """Yield a message of a few lines for each slot that failed: how often, and its first failure.

    Args:
        counts_by_slot: Counts of `count_failures`.
        n_episodes: Number of episodes that were played.
        uris: Policy of each slot, as it was asked for.
        unit: What the number of a failure's episode counts: "episode", or "game" of policies that meet,
            which is an episode for each side if they change sides.
    """
    for slot, counts in counts_by_slot.items():
        uri = uris.get(slot, "")
        subject = f"Slot '{slot}'" + (f", played by {uri}," if uri else "")
        subject = uri if slot == POLICY_SLOT else subject
        total = f"{n_episodes} episode" + ("s" if n_episodes != 1 else "")
        if counts["never_acted"] == n_episodes:
            line = f"{subject} never acted: it failed in all of {total}"
        elif counts["episodes"] == n_episodes:
            line = f"{subject} failed in all of {total}"
        else:
            line = f"{subject} failed in {counts['episodes']} of {total}"
        first, n_failures = counts["first"], counts["failures"]
        if first is None:
            yield (
                f"{line}. None of its actions was valid: whole numbers [agents, spec.n_heads], "
                f"each below the number of choices of its head."
            )
            continue
        causes = counts.get("causes", {})
        listed = ", ".join(f"{n} {_CAUSES.get(cause, cause)}" for cause, n in causes.items())
        more = f" ({n_failures} failures)" if n_failures != counts["episodes"] else ""
        more = f" ({n_failures} failures: {listed})" if len(causes) > 1 else more
        yield "\n".join([f"{line}{more}. The first failure:", *describe_failure(first, unit)])


def describe_run_failures(
    settings: Mapping[str, Any], last: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Describe the failures of a finished evaluation, comparison, round robin or tournament.

    Args:
        settings: Settings of the run, as JSON values.
        last: Last event of the run, as JSON values.

    Returns:
        A message for each slot or policy that failed, and one for each that failed in every
        episode, such as "Slot 'herd' failed in every episode".
    """
    messages: list[str] = []
    always: list[str] = []
    if last["kind"] == "evaluated":
        failed, episodes = last["failed_slots"], last["episodes"]
        messages += describe_failures(failed, episodes, slot_uris(settings))
        always += [f"Slot '{slot}'{_ALWAYS}episode" for slot in _always_failed(failed, episodes)]
        return messages, always
    if last["kind"] in _MEETING_KINDS:
        players = zip(last["policies"], last["failed_slots"], last["episodes"], strict=True)
        for name, failed, episodes in players:
            messages += describe_failures(failed, episodes, {POLICY_SLOT: name}, "game")
            always += [f"{name}{_ALWAYS}game" for _ in _always_failed(failed, episodes)]
        return messages, always
    is_round_robin = last["kind"] == "rated"
    n_played, n_rivals = settings["episodes"], len(last["policies"]) - 1
    n_played *= 2 * n_rivals if is_round_robin else 1
    unit = "game" if is_round_robin else "episode"
    for candidate, failed in zip(last["policies"], last["failed_slots"], strict=True):
        uris = {POLICY_SLOT: candidate} if is_round_robin else candidate_uris(settings, candidate)
        for slot, message in zip(
            failed, describe_failures(failed, n_played, uris, unit), strict=True
        ):
            # Slots of teams, and those beside the candidates, have the same name in all episodes.
            named = slot in (POLICY_SLOT, CANDIDATE_SLOT)
            messages.append(message if named else f"In the episodes of {candidate}:\n{message}")
        for slot in _always_failed(failed, n_played):
            subject = candidate if is_round_robin else f"{uris[slot]} in slot '{slot}'"
            always.append(f"{subject}{_ALWAYS}{unit}")
    return messages, always


def _always_failed(counts_by_slot: Mapping[str, Any], n_episodes: int) -> list[str]:
    """Return the slots that failed, or gave no valid action, in every episode."""
    return [s for s, counts in counts_by_slot.items() if counts["episodes"] == n_episodes]


def describe_failure(record: Mapping[str, Any], unit: str = "episode") -> Iterator[str]:
    """Yield the lines about one failure: where, what happened, the author's line, the last frame.

    Args:
        record: Fields of `Failure` and `episode`; of a round robin `opponent` and `mirrored` too.
        unit: What the episode is called: "episode" or "game".
    """
    where = f"{unit} {record['episode']}"
    if "opponent" in record:
        sides = " with sides exchanged" if record.get("mirrored") else ""
        where += f" against {record['opponent']}{sides}"
    where += f", tick {record['tick']}"
    where += f", agent {record['agent']}" if record["agent"] != WHOLE_SLOT else ""
    yield f"  {where}: {extract_event(record)}"
    frames = str(record.get("traceback", "")).splitlines()
    location = str(record.get("location", ""))
    author = next((f for f in reversed(frames) if f"{f}: ".startswith(f"{location}: ")), location)
    if author:
        yield f"    {author}"
    if frames and frames[-1] != author:
        yield f"    raised in {frames[-1]}"


def extract_event(record: Mapping[str, Any]) -> str:
    """Return what happened in a failure: its message without slot, agent and tick.

    >>> message = "Slot 'all', agent 3, tick 9: act_wait raised KeyError: 'x'."
    >>> extract_event({"slot": "all", "agent": 3, "tick": 9, "message": message})
    "act_wait raised KeyError: 'x'"
    """
    agent = "" if record["agent"] == WHOLE_SLOT else f", agent {record['agent']}"
    prefix = f"Slot '{record['slot']}'{agent}, tick {record['tick']}: "
    return str(record["message"]).removeprefix(prefix).removesuffix(".")


def slot_uris(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the policy of each slot as stored settings name it: a URI or a class path."""
    uris = {}
    for slot, value in settings.get("slots", {}).items():
        table = value if isinstance(value, Mapping) else {"policy_uri": value}
        uris[str(slot)] = str(table.get("policy_uri") or table.get("class_path") or "")
    return uris


def candidate_uris(settings: Mapping[str, Any], candidate: str) -> dict[str, str]:
    """Return the policy of each slot while a candidate of a comparison plays."""
    return {**slot_uris(settings), **parse_team(candidate)}


def iter_failures(
    job: str, settings: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a record of each failure in a run: which policy, where, and the fields of `Failure`.

    Args:
        job: `evaluate`, `compare`, `round_robin`, `tournament` or `crossplay`; others have none.
        settings: Settings of the run, as JSON values.
        events: Events of the run, as JSON values.

    Yields:
        `episode`, `uri` (the policy as it was asked for) and the fields of `Failure`; of a
        comparison `candidate` too, of games between policies `opponent` and `mirrored` (sides
        exchanged).
    """
    policies = [str(policy) for policy in settings.get("policies", ())]
    evaluated = slot_uris(settings) if job == "evaluate" else {}
    compared = [candidate_uris(settings, policy) for policy in policies if job == "compare"]
    for event in events:
        kind, failures = event["kind"], event.get("failures")
        if kind not in _PLAYED_KINDS or isinstance(failures, int):
            continue  # earlier versions stored only the number of a comparison's failures
        for failure in failures or ():
            slot, record = failure["slot"], {"episode": event["step"]}
            if kind == "episode_played":
                yield {**record, "uri": evaluated.get(slot, ""), **failure}
            elif kind == "candidate_played":
                candidate = policies[event["policy"]]
                uri = compared[event["policy"]].get(slot, "")
                yield {"candidate": candidate, **record, "uri": uri, **failure}
            elif kind == "pair_played":
                side = SIDES.index(slot)
                uri, opponent = (policies[event[SIDES[i]]] for i in (side, 1 - side))
                yield {**record, "uri": uri, "opponent": opponent, **failure}
            else:
                names = event["policies"]
                player = slot_names(len(names)).index(slot)
                rivals = " and ".join((*names[:player], *names[player + 1 :]))
                yield {**record, "uri": names[player], "opponent": rivals, **failure}
