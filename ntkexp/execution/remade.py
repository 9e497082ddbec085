"""Makes the data, the network, the batches and the kernel of a finished run again from its files.

A record's own methods ask here (`run.network()`), and nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ntkexp import components
from ntkexp.config import ProbingConfig, TrainConfig
from ntkexp.errors import UserError
from ntkexp.options import checked, neutral_of
from ntkexp.probes import NetworkView
from ntkexp.references import FromRun
from ntkexp.results.status import kept_config
from ntkexp.training.experiment import network_on_data
from ntkexp.training.prepared import NetworkOnData

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ntkexp.data import Dataset
    from ntkexp.probes import Batch
    from ntkexp.results import Record
    from ntkexp.tangent import TangentKernel

PARTS = ("data", "model", "transform", "objective", "optim")


def network(run: Record, step: int | None, *, trust: bool) -> nn.Module:
    return _with_weights(run, step, trust).model


def data(run: Record, *, trust: bool) -> Dataset:
    return _prepared(run, trust).dataset


def batch(run: Record, name: str, *, trust: bool) -> Batch:
    return _of_name(_prepared(run, trust), name)


def kernel(run: Record, name: str, step: int | None, *, trust: bool) -> TangentKernel:
    prepared = _with_weights(run, step, trust)
    view = NetworkView(
        prepared.model,
        prepared.dataset,
        prepared.objective,
        kernel_of=prepared.transformed.kernel,
        kernel_factor=prepared.transformed.kernel_factor,
        step=run.iteration if step is None else step,
        seed=run.seed,
        last=step is None,
        batches={name: _of_name(prepared, name)},
    )
    return view.kernel(name)


def _of_name(prepared: NetworkOnData, name: str) -> Batch:
    if name not in prepared.batches:
        names = ", ".join(prepared.batches) or "none"
        raise UserError(f"no batch {name}: the run's probes look at {names}")
    return prepared.batches[name]


def _with_weights(run: Record, step: int | None, trust: bool) -> NetworkOnData:
    last = step is None or step == run.iteration
    weights = _weights(run, "weights.pt" if last else f"weights.{step}.pt")
    prepared = _prepared(run, trust)
    prepared.model.load_state_dict(weights)
    prepared.model.eval()
    return prepared


def _weights(run: Record, file: str) -> dict[str, Tensor]:
    return FromRun(file=file, folder=str(run.folder)).tensors()


def _prepared(run: Record, trust: bool) -> NetworkOnData:
    """Data, and the network as it is drawn at the start."""
    if run.folder is None:
        raise UserError(f"{run}: lies in no folder, so there is nothing to make it from")
    kept = kept_config(run.folder)
    if "study" in kept or kept.get("members"):
        raise UserError(f"{run.folder}: is a study or trains many networks; expected one network")
    chosen: dict[str, Any] = {
        group: _component(group, kept.get(group) or {}, group, trust) for group in PARTS
    }
    built = {
        key: _component("probe", {"name": key, **options}, f"probe.{key}", trust)
        for key, options in (kept.get("probe") or {}).items()
    }
    config = TrainConfig(
        name=run.experiment,
        seed=kept["seed"],
        probe=built,
        probing=checked(ProbingConfig, kept.get("probing", {}), "probing"),
        progress=False,
        **chosen,
    )
    # Weights of another run it began with are in its own weights.
    prepared = network_on_data(config, built, torch.device("cpu"))
    for file, checksum in prepared.dataset.checksums.items():
        if run.checksums.get(file) != checksum:
            raise UserError(f"{run.folder}: was made with another {file} than is here")
    return prepared


def _component(group: str, options: dict[str, Any], where: str, trust: bool) -> Any:
    """A component of a kept config; an option from after the run has its neutral value."""
    name = str(options.get("name", components.GROUPS[group].neutral))
    if "." in name and not trust:
        raise UserError(f"{where}={name}: is not of ntkexp; trust=True imports and runs it")
    neutral = neutral_of(components.find(group, name))
    return components.made(group, name, {**neutral, **options, "name": name}, where)
