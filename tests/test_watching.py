"""`ntkexp.watch` sees a loop that it does not know, and the loop does not notice."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import ntkexp
from ntkexp import results
from ntkexp.data.dataset import Split
from ntkexp.errors import UserError
from ntkexp.figures import draw
from ntkexp.results import Run
from ntkexp.studies.looking import on_device
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.alignment import centre
from ntkexp.theory.spectrum import eigenvalues

Pair = tuple[Tensor, Tensor]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3)
    )


def batches(seed: int = 0) -> dict[str, Pair]:
    draw = torch.Generator().manual_seed(seed)
    return {
        name: (torch.randn(n, 6, generator=draw), torch.randint(0, 3, (n,), generator=draw))
        for name, n in (("train", 30), ("test", 20))
    }


def train(network: nn.Module, w: Any = None, first: int = 1, last: int = 12) -> None:
    x, y = batches()["train"]
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    for step in range(first, last + 1):
        chosen = torch.randint(0, 30, (10,))
        optimiser.zero_grad()
        loss = cross_entropy(network(x[chosen]), y[chosen])
        loss.backward()
        optimiser.step()
        if w is not None:
            w.after_step(step, loss)


def test_the_trajectory_is_the_same_bit_for_bit(tmp_path: Path) -> None:
    alone, watched = net(), net()
    torch.manual_seed(1)
    train(alone)
    torch.manual_seed(1)
    with ntkexp.watch(watched, batches=batches(), out=tmp_path / "mine" / "0") as w:
        train(watched, w)
    assert watched.training
    for name, tensor in alone.state_dict().items():
        assert torch.equal(tensor, watched.state_dict()[name]), name


@pytest.fixture
def out(tmp_path: Path) -> Path:
    network = net()
    with ntkexp.watch(network, batches=batches(), out=tmp_path / "mine" / "0") as w:
        train(network, w)
    return tmp_path / "mine" / "0"


def test_a_network_with_an_output_for_each_of_two_classes(tmp_path: Path) -> None:
    network, (x, y) = nn.Linear(6, 2), batches()["train"]
    two = {"train": (x, y % 2), "test": (x, y % 2)}
    with ntkexp.watch(network, batches=two, out=tmp_path / "mine" / "0"):
        pass
    losses = results.read(tmp_path / "mine" / "0").tables["evals"]["loss"]
    assert losses[0] == pytest.approx(cross_entropy(network(x), y % 2).item(), rel=1e-6)


def test_a_network_in_float64_has_its_kernel_in_float64(tmp_path: Path) -> None:
    network = net().double()
    given = {name: (x.double(), y) for name, (x, y) in batches().items()}
    with ntkexp.watch(network, batches=given, out=tmp_path / "mine" / "0"):
        pass
    spectrum = results.read(tmp_path / "mine" / "0").tables["spectrum"]
    found = spectrum.query("step == 0 and split == 'train'")["eigenvalue"].max()
    gram = tangent_kernel(network.eval(), given["train"][0][:20], layers=False).gram.numpy()
    assert found == pytest.approx(eigenvalues(centre(gram, 3))[0], rel=1e-10)


def test_all_of_a_split_goes_to_a_device() -> None:
    mask = torch.ones(2, dtype=torch.bool)
    split = replace(Split.clean(torch.ones(2, 3), torch.ones(2)), groups={"odd": mask}, scores=mask)
    moved = on_device(split, torch.device("meta"))
    parts = [moved.inputs, moved.targets, moved.difficult, moved.groups["odd"], moved.scores]
    assert {part.device.type for part in parts if part is not None} == {"meta"}
    assert moved.scores is not None


def test_it_is_a_run_whose_figures_can_be_drawn(out: Path) -> None:
    run = results.read(out)
    assert run.experiment == "mine"
    looks = sorted(run.tables["evals"]["step"].unique())
    assert looks == [0, 5, 6, 7, 8, 10, 11, 12]
    assert list(run.tables["losses"]["step"]) == list(range(1, 13))
    spectrum = run.tables["spectrum"].query("step == 0 and split == 'train'")
    kernel = tangent_kernel(net().eval(), batches()["train"][0])
    assert spectrum["eigenvalue"].sum() < kernel.gram.trace().item()
    assert draw("alignment", "2", {"mine": [run]}).axes


def test_a_loss_is_kept_as_it_was_given(tmp_path: Path) -> None:
    out, loss = tmp_path / "mine" / "0", torch.zeros(())
    with ntkexp.watch(nn.Linear(6, 3), batches=batches(), out=out) as w:
        for step in range(1, 4):
            w.after_step(step, loss.fill_(step))
    assert results.read(out).tables["losses"]["loss"].tolist() == [1, 2, 3]


def test_going_on_with_nothing_left_to_do_changes_nothing(out: Path) -> None:
    before = results.read(out).tables
    with ntkexp.watch(net(), batches=batches(), out=out, resume=12):
        pass
    after = results.read(out).tables
    assert all(frame.equals(before[name]) for name, frame in after.items())


def test_a_network_of_bfloat16_is_looked_at(tmp_path: Path) -> None:
    half = {name: (x.bfloat16(), y) for name, (x, y) in batches().items()}
    out = tmp_path / "mine" / "0"
    with ntkexp.watch(nn.Linear(6, 3).bfloat16(), batches=half, out=out):
        pass
    assert len(results.read(out).tables["spectrum"])


def test_scalars_are_handed_on_as_wandb_takes_them(tmp_path: Path) -> None:
    said: list[tuple[int, dict[str, float]]] = []
    network = net()

    def log(numbers: dict[str, float], step: int) -> None:
        said.append((step, numbers))

    out = tmp_path / "mine" / "0"
    with ntkexp.watch(network, batches=batches(), out=out, log=log) as w:
        train(network, w, last=6)
    assert [step for step, _ in said] == [0, 5, 6]
    evals = results.read(out).tables["evals"].query("step == 5 and split == 'test'")
    assert said[1][1]["evals/test/all/loss"] == evals["loss"].item()


def test_going_on_drops_what_came_later(out: Path) -> None:
    with pytest.raises(UserError, match="holds a run, and this training begins at"):
        ntkexp.watch(net(), batches=batches(), out=out).__enter__()
    with pytest.raises(UserError, match="train is not the batch"):
        ntkexp.watch(net(), batches=batches(1), out=out, resume=7).__enter__()
    before = results.read(out).tables["evals"]
    network = net()
    with ntkexp.watch(network, batches=batches(), out=out, resume=7) as w:
        train(network, w, first=8, last=10)
    after = results.read(out).tables["evals"]
    assert sorted(after["step"].unique()) == [0, 5, 6, 7, 8, 10]
    early = before[before["step"] <= 7].reset_index(drop=True)
    pd.testing.assert_frame_equal(after[after["step"] <= 7].reset_index(drop=True), early)


def test_going_on_loses_nothing_when_it_ends_at_its_very_beginning(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = results.read(out).tables["evals"]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Run, "begin", killed)
        ntkexp.watch(net(), batches=batches(), out=out, resume=7).__enter__()
    pd.testing.assert_frame_equal(results.read(out).tables["evals"], before)


def test_a_damaged_table_is_refused_and_not_left_out(out: Path) -> None:
    (out / "spectrum.parquet").write_bytes(b"rot")
    with pytest.raises(UserError, match=r"spectrum.parquet is damaged"):
        ntkexp.watch(net(), batches=batches(), out=out, resume=7).__enter__()


def test_a_loop_that_fails_leaves_its_looks(tmp_path: Path) -> None:
    network, out = net(), tmp_path / "mine" / "0"
    with (
        pytest.raises(ZeroDivisionError),
        ntkexp.watch(network, batches=batches(), out=out) as w,
    ):
        train(network, w, last=6)
        raise ZeroDivisionError
    assert json.loads((out / "status.json").read_text())["state"] == "running"
    with ntkexp.watch(network, batches=batches(), out=out, resume=5) as w:
        train(network, w, first=6, last=6)
    assert sorted(results.read(out).tables["evals"]["step"].unique()) == [0, 5, 6]


@pytest.mark.parametrize("fails", [False, True])
def test_going_on_keeps_the_arrays_of_a_probe_of_ones_own(fails: bool, tmp_path: Path) -> None:
    network, out = net(), tmp_path / "mine" / "0"
    own = ["tests.probes.test_arrays.FirstLayer"]
    first = next(network.parameters()).norm().item()
    with (
        suppress(ZeroDivisionError),
        ntkexp.watch(network, batches=batches(), out=out, probes=own) as w,
    ):
        train(network, w, last=7)
        if fails:
            raise ZeroDivisionError
    with ntkexp.watch(network, batches=batches(), out=out, probes=own, resume=6) as w:
        train(network, w, first=7, last=8)
    files = {file.name: np.linalg.norm(np.load(file)) for file in out.glob("*.npy")}
    assert sorted(files) == [f"first_layer.{step}.npy" for step in (0, 5, 6, 7, 8)]
    assert files["first_layer.0.npy"] == pytest.approx(first)


def test_a_step_is_looked_at_once_and_steps_never_go_back(tmp_path: Path) -> None:
    network, out = net(), tmp_path / "mine" / "0"
    with ntkexp.watch(network, batches=batches(), out=out) as w:
        for micro in range(1, 23):  # two backwards to an update
            w.after_step(micro // 2, torch.zeros(()))
    evals = results.read(out).tables["evals"].query("split == 'train'")
    assert list(evals["step"]) == [0, 5, 6, 7, 8, 10, 11]
    with (
        pytest.raises(UserError, match=r"after_step\(1\): comes after step 6; .* over all epochs"),
        ntkexp.watch(network, batches=batches(), out=tmp_path / "mine" / "1") as w,
    ):
        for _epoch in range(2):
            train(network, w, last=6)


def test_a_step_is_a_whole_number_and_a_loss_one_number(tmp_path: Path) -> None:
    with ntkexp.watch(nn.Linear(6, 3), batches=batches(), out=tmp_path / "mine" / "0") as w:
        for step, loss, told in (
            (1.5, None, r"after_step\(1.5\): expected a whole number of steps"),
            (1, torch.ones(3), r"the loss is \(3,\); expected one number"),
            (1, "x", "the loss is 'x'; expected one number"),
        ):
            with pytest.raises(UserError, match=told):
                w.after_step(step, loss)  # type: ignore[arg-type]
        w.after_step(np.int64(1), np.float32(0.5))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"batches: got a Tensor; expected \{'train': \(x, y\)"):
        ntkexp.watch(nn.Linear(6, 3), batches=torch.ones(3), out=tmp_path)  # type: ignore[arg-type]


def test_autocast_around_a_step_does_not_reach_a_look(tmp_path: Path) -> None:
    network, out = net(), tmp_path / "mine" / "0"
    x, y = batches()["train"]
    with ntkexp.watch(network, batches=batches(), out=out) as w:
        with torch.autocast("cpu", torch.bfloat16):
            train(network, w, last=5)
        loss = cross_entropy(network.eval()(x), y).item()
    evals = results.read(out).tables["evals"].query("split == 'train' and step == 5")
    assert evals["loss"].item() == pytest.approx(loss, rel=1e-6)


def test_what_ended_a_loop_is_what_its_caller_hears_of(tmp_path: Path) -> None:
    network = net()
    with (
        pytest.raises(ZeroDivisionError),
        ntkexp.watch(network, batches=batches(), out=tmp_path / "mine" / "0") as w,
    ):
        w.after_step(1)
        nn.init.constant_(network[0].weight, torch.nan)
        raise ZeroDivisionError


class Random(nn.Linear):
    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs) + torch.randn(len(inputs), self.out_features)


def test_a_network_that_cannot_be_looked_at_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    out = tmp_path / "mine" / "0"
    with pytest.raises(UserError, match="random"):
        ntkexp.watch(Random(6, 3), batches=batches(), out=out).__enter__()
    assert not out.exists()
    with ntkexp.watch(net(), batches=batches(), out=out):
        pass
    with pytest.raises(UserError, match=r"has tables of others \(spectrum\); expected"):
        ntkexp.watch(net(), batches=batches(), out=out, probes=["alignment"], resume=0).__enter__()
    with ntkexp.watch(net(), batches=batches(), out=out, resume=0):
        pass


class Wrapped(nn.Module):
    """As DistributedDataParallel keeps a network."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module


def test_wrappers_come_off_and_what_cannot_be_seen_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "mine" / "0"
    wrapper = type("DistributedDataParallel", (Wrapped,), {})
    assert ntkexp.watch(wrapper(net()), batches=batches(), out=out).network[0].in_features == 6
    sharded = type("FullyShardedDataParallel", (Wrapped,), {})
    with pytest.raises(UserError, match="no process has all weights"):
        ntkexp.watch(sharded(net()), batches=batches(), out=out)
    with pytest.raises(UserError, match="looks at updates"):
        ntkexp.watch(net(), batches=batches(), out=out, probes=["complexity"])
    with pytest.raises(UserError, match="no test; expected train and test"):
        ntkexp.watch(net(), batches={"train": batches()["train"]}, out=out)


class Holding(nn.Module):
    """As a LightningModule that compiles its network."""

    def __init__(self, *, compiled: bool) -> None:
        super().__init__()
        network = net()
        self.net = torch.compile(network, backend="aot_eager") if compiled else network

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.net(x)
        return outputs


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_submodule_is_seen_as_it_was_and_stays_compiled(tmp_path: Path) -> None:
    tables = []
    for compiled in (False, True):
        network, out = Holding(compiled=compiled), tmp_path / f"{compiled}" / "0"
        torch.manual_seed(1)
        with ntkexp.watch(network, batches=batches(), out=out) as w:
            train(network, w, last=6)
        tables.append(results.read(out).tables)
    assert hasattr(network.net, "_orig_mod")
    assert network.net.training
    for name, plain in tables[0].items():
        pd.testing.assert_frame_equal(plain, tables[1][name], rtol=1e-5)
    pd.testing.assert_series_equal(tables[0]["alignment"]["layer"], tables[1]["alignment"]["layer"])


def test_the_autocast_of_accelerate_is_off_while_it_looks(tmp_path: Path) -> None:
    """accelerate puts a forward in the place of the network's, and keeps the network's."""
    network, spectra = net(), []
    for name in ("plain", "prepared"):
        if name == "prepared":
            network._original_forward = network.forward
            network.forward = torch.autocast("cpu", torch.bfloat16)(network.forward)
        with ntkexp.watch(network, batches=batches(), out=tmp_path / name / "0"):
            pass
        spectra.append(results.read(tmp_path / name / "0").tables["spectrum"])
    pd.testing.assert_frame_equal(*spectra)
    assert network.forward is not network._original_forward


def test_a_network_of_bfloat16_takes_examples_of_float32(tmp_path: Path) -> None:
    out = tmp_path / "mine" / "0"
    with ntkexp.watch(nn.Linear(6, 3).bfloat16(), batches=batches(), out=out):
        pass
    assert len(results.read(out).tables["spectrum"])


def test_losses_are_of_updates_where_gradients_are_accumulated(tmp_path: Path) -> None:
    out = tmp_path / "mine" / "0"
    with ntkexp.watch(net(), batches=batches(), out=out) as w:
        for batch in range(1, 10):  # the ninth is of an update that is never made
            w.after_step(batch // 2, torch.tensor(float(batch)))
    losses = results.read(out).tables["losses"]
    assert losses.values.tolist() == [[1, 1.5], [2, 3.5], [3, 5.5], [4, 7.5]]


def test_a_run_begins_anew_where_that_is_asked_for(out: Path) -> None:
    other = nn.Linear(6, 3)
    with ntkexp.watch(other, batches=batches(1), out=out, anew=True, probes=["alignment"]) as w:
        train(other, w, last=3)
    run = results.read(out)
    assert sorted(run.tables["evals"]["step"].unique()) == [0, 3]
    assert run.tables["losses"]["step"].tolist() == [1, 2, 3]
    assert not (out / "spectrum.parquet").exists()


def test_a_training_that_goes_on_may_be_watched_from_there(tmp_path: Path) -> None:
    out = tmp_path / "mine" / "0"
    with pytest.raises(UserError, match=r"resume=7: .* holds no run; anew=True begins one there"):
        ntkexp.watch(net(), batches=batches(), out=out, resume=7).__enter__()
    for last in (10, 12):
        with ntkexp.watch(net(), batches=batches(), out=out, resume=last - 3, anew=True) as w:
            w.after_step(last)
        steps = sorted(results.read(out).tables["evals"]["step"].unique())
        assert steps == ([7, 10] if last == 10 else [7, 12])
    with ntkexp.watch(net(), batches=batches(), out=out, resume=5):  # before all that it has
        pass
    assert sorted(results.read(out).tables["evals"]["step"].unique()) == [5]


class Words(nn.Module):
    """Takes a dict of tensors and gives a dict, as networks of Hugging Face do."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(9, 5), nn.Linear(5, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        mask = attention_mask.unsqueeze(2)
        return {"logits": self.head((self.embed(input_ids) * mask).sum(1) / mask.sum(1))}


def test_inputs_may_be_a_dict(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Words()
    words = {"input_ids": torch.randint(0, 9, (12, 4)), "attention_mask": torch.ones(12, 4)}
    pair = words, torch.arange(12) % 3
    out = tmp_path / "mine" / "0"
    with ntkexp.watch(network, batches={"train": pair, "test": pair}, out=out) as w:
        w.after_step(1)
    rows = results.read(out).tables["alignment"].query("step == 1 and layer == 'total'")
    assert len(rows) and rows["cka"].between(0, 1).all()
    assert isinstance(network(**words), dict)
