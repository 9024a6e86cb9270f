"""Export the policy of a training to a file that plays without kinfolk."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kinfolk.core.errors import SettingsError
from kinfolk.core.settings import validate_settings
from kinfolk.core.trust import untrusted
from kinfolk.jobs.train.settings import Train
from kinfolk.policies.build import ResolvedPolicy, build_policy
from kinfolk.policies.neural import export as formats
from kinfolk.store.arrays import read_policy, write_policy
from kinfolk.store.files import write_atomic
from kinfolk.store.policy_references import find_policy
from kinfolk.store.run import find_author, open_run


def export_policy(
    run: str | Path,
    out: str | Path,
    format: Literal["torchscript", "onnx", "safetensors"] = "torchscript",
) -> str:
    """Write a trained net to a file that can be played without kinfolk.

    TorchScript and ONNX files go from observations to the most likely actions; safetensors holds the
    weights, with the net's class and settings as metadata.

    Args:
        run: `RUN[/SLOT][@best|@latest|@STEP]`, the folder of a training and which of its policies.
        out: File to write.
        format: `torchscript`, `onnx` or `safetensors`.

    Returns:
        What is in the file: the shape of its input, and its outputs.

    Raises:
        UsageError: There is no such policy or format, or it cannot be exported.
    """
    if format not in formats.FORMATS:
        raise SettingsError(f"--format must be {', '.join(formats.FORMATS)}, not '{format}'.")
    name, out = str(run).removeprefix("run:"), Path(out)
    path = find_policy(name)
    stored = read_policy(path)
    if format == "safetensors":
        write_policy(out, stored)
        return f"The weights of {path} are in {out}."
    config = open_run(path.parents[2]).config
    if config["job"] != "train":
        raise SettingsError(
            f"{name} was made by {config['job']}. Only nets of kinfolk train are exported as {format}; "
            f"export it as safetensors, which kinfolk.nets.load_nets reads if it is an evolved net."
        )
    with untrusted(find_author(path)):
        settings = validate_settings(Train, config["settings"])
        resolved = ResolvedPolicy(stored.class_path, stored.settings, stored.arrays)
        built = build_policy(resolved, settings.world_ref.spec, batch_invariant=False)
    net = formats.require_exportable(built, name)
    data = formats.export_onnx(net) if format == "onnx" else formats.export_torchscript(net)
    write_atomic(out, data)
    shown = formats.StandalonePolicy(net)
    kind = "observation" if shown.takes_observations else "encoded observation"
    return f"{path} is in {out}: {kind} [n, {shown.size}] to action, logits and value."
