"""Policies that slots ask for, each loaded once."""

from __future__ import annotations

from kinfolk.core.errors import SettingsError
from kinfolk.core.spaces import WorldSpec
from kinfolk.play.slots import PolicySlot
from kinfolk.policies.base import Policy
from kinfolk.policies.resolve import ResolvedPolicy, build


class SlotRegistry:
    """Loads the policies of slots and keeps them, by content and not by the name of a slot.

    Two slots with the same class, settings and weights share one policy; a file of weights that
    has changed since is another. With `training`, a trainable slot has a policy of its own, because
    what it learns must not reach a slot that began with the same weights.

    Args:
        training: Whether trainable slots will be changed.
        batch_invariant: Refuse nets that are not, as `policies.resolve.build` does.
        keep: How many policies are held; the one asked for longest ago goes first.
    """

    def __init__(
        self, training: bool = False, keep: int | None = None, batch_invariant: bool = True
    ) -> None:
        self._training, self._keep = training, keep
        self._batch_invariant = batch_invariant
        self._loaded: dict[tuple[str, WorldSpec, str, str], Policy] = {}

    def __len__(self) -> int:
        return len(self._loaded)

    def hold(self, policies: int) -> None:
        """Keep at least so many from now on: those that play together."""
        if self._keep is not None:
            self._keep = max(self._keep, policies)

    def get(self, slot: PolicySlot, world_spec: WorldSpec, device: str | None = None) -> Policy:
        """The policy of a slot, ready to play the world.

        Raises:
            UsageError: The slot names no policy, or one that cannot be made for this world.
        """
        owner = slot.id if self._training and slot.trainable else ""
        return self.load(slot.resolved(), world_spec, device or slot.device, owner)

    def load(
        self, resolved: ResolvedPolicy, world_spec: WorldSpec, device: str = "cpu", owner: str = ""
    ) -> Policy:
        """The policy with this content; `owner` keeps it apart from others."""
        key = (resolved.sha256, world_spec, device, owner)
        policy = self._loaded.pop(key, None)
        if policy is None:
            policy = build(resolved, world_spec, self._batch_invariant)
            _move(policy, resolved.class_path, device)
        self._loaded[key] = policy
        while self._keep is not None and len(self._loaded) > self._keep:
            self._loaded.pop(next(iter(self._loaded))).close()
        return policy

    def forget(self, policy: Policy) -> None:
        """Close a policy that is not to be trusted any more."""
        for key in [key for key, held in self._loaded.items() if held is policy]:
            del self._loaded[key]
        policy.close()

    def close(self) -> None:
        """Close all."""
        while self._loaded:
            self._loaded.popitem()[1].close()


def _move(policy: Policy, class_path: str, device: str) -> None:
    if device == "cpu":
        return
    to = getattr(policy, "to", None)
    if to is None:
        raise SettingsError(
            f"{class_path} runs on the cpu only, not on '{device}': it has no method to."
        )
    to(device)
