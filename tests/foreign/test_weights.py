"""Which weights a checkpoint holds, and of which step they are."""

from __future__ import annotations

import argparse
import json
import os
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.foreign.pickled import holds_values
from ntkexp.foreign.weights import Reader, load_into, steps_of

READER = Reader()


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def kept(path: Path, **content: object) -> Path:
    torch.save(content, path)
    return path


def test_the_step_is_what_the_file_says_never_the_order_of_names(tmp_path: Path) -> None:
    lightning = kept(tmp_path / "last.ckpt", global_step=70, state_dict={})
    named = [kept(tmp_path / f"step={step}.pt") for step in (10, 2)]
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 501}))
    found = steps_of([lightning, *named, folder], (), READER)
    assert [*found.items()] == [(2, named[1]), (10, named[0]), (70, lightning), (501, folder)]


def test_a_step_that_is_unknown_or_of_two_files_is_refused(tmp_path: Path) -> None:
    unknown = kept(tmp_path / "best.pt")
    with pytest.raises(UserError, match=r"best\.pt: does not say at which step"):
        steps_of([unknown], (), READER)
    assert steps_of([unknown], (7,), READER) == {7: unknown}
    twice = [kept(tmp_path / name) for name in ("a-step=3.pt", "b-step=3.pt")]
    with pytest.raises(UserError, match="both of step 3"):
        steps_of(twice, (), READER)
    with pytest.raises(UserError, match="1 steps for 2 files"):
        steps_of(twice, (1,), READER)


@pytest.mark.parametrize("prefix", ["", "module.", "model.", "_orig_mod.", "module._orig_mod.",
                                    "net._orig_mod."])  # fmt: skip
@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model", None])
def test_weights_are_found_under_the_names_of_wrappers(
    tmp_path: Path, prefix: str, key: str | None
) -> None:
    original, other = network(0), network(1)
    weights = {f"{prefix}{name}": w for name, w in original.state_dict().items()}
    if prefix:
        weights["loss.weight"] = torch.ones(2)  # of the module around the network
    path = kept(tmp_path / "net.pt", **({key: weights} if key else weights))
    load_into(other, path, READER)
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, original.state_dict()[name])


def holding_compiled(seed: int, *, compiled: bool) -> nn.Module:
    net = nn.Sequential(network(seed), nn.Linear(1, 1))
    if compiled:
        net[0] = torch.compile(net[0], backend="eager")  # type: ignore[assignment]
    return net


@pytest.mark.parametrize("compiled", [(True, False), (False, True), (True, True)])
def test_a_submodule_may_have_been_compiled_and_be_compiled_now(
    tmp_path: Path, compiled: tuple[bool, bool]
) -> None:
    then, now = (holding_compiled(seed, compiled=one) for seed, one in enumerate(compiled))
    assert any("._orig_mod." in name for name in [*then.state_dict(), *now.state_dict()])
    names = [*now.state_dict()]
    weights = {f"model.{name}": w for name, w in then.state_dict().items()}
    load_into(now, kept(tmp_path / "net.pt", state_dict=weights), READER)
    assert [*now.state_dict()] == names
    for ours, theirs in zip(now.parameters(), then.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_of_several_sets_of_weights_it_is_told_which_are_read(tmp_path: Path) -> None:
    average, live = network(0).state_dict(), network(1).state_dict()
    ours = network(2)
    path = kept(tmp_path / "averages.ckpt", state_dict=average, current_model_state=live,
                averaging_state={"n_averaged": torch.tensor(3)}, hyper={"width": 4})  # fmt: skip
    assert load_into(ours, path, READER) == (
        "weights of state_dict, which is Lightning's average; --weights current_model_state takes "
        "others of these files"
    )
    assert torch.equal(ours.state_dict()["0.weight"], average["0.weight"])
    told = load_into(ours, path, Reader(weights="current_model_state"))
    assert told.startswith("weights of current_model_state; --weights state_dict takes others")
    assert torch.equal(ours.state_dict()["0.weight"], live["0.weight"])
    with pytest.raises(UserError, match="--weights state_dict or current_model_state takes"):
        load_into(ours, path, Reader(weights="ema"))


def test_an_average_alone_is_read_when_it_is_named(tmp_path: Path) -> None:
    averaged = torch.optim.swa_utils.AveragedModel(network(1))
    path = kept(tmp_path / "step=1.pt", model=network(0).state_dict(), ema=averaged.state_dict())
    ours = network(2)
    assert (
        load_into(ours, path, READER)
        == "weights of model; --weights ema takes others of these files"
    )
    load_into(ours, path, Reader(weights="ema"))
    assert torch.equal(ours.state_dict()["0.weight"], network(1).state_dict()["0.weight"])
    assert load_into(ours, kept(tmp_path / "plain.pt", **network(0).state_dict()), READER) == ""


def test_another_network_is_refused_with_the_names_that_differ(tmp_path: Path) -> None:
    path = kept(tmp_path / "net.pt", state_dict={"2.weight": torch.ones(1)})
    with pytest.raises(UserError, match=r"lacks 0\.weight, 0\.bias.* has 2\.weight"):
        load_into(network(), path, READER)
    deeper = nn.Sequential(*network(), nn.Linear(1, 1)).state_dict()
    for prefix in ("", "module."):
        weights = {f"{prefix}{name}": w for name, w in deeper.items()}
        with pytest.raises(UserError, match=r"has 2\.weight, 2\.bias$"):
            load_into(network(), kept(tmp_path / "deeper.pt", **weights), READER)
    average = kept(tmp_path / "average.pt", ema=network().state_dict())
    with pytest.raises(UserError, match=r"average\.pt: has ema; expected .* or --weights ema"):
        load_into(network(), average, READER)
    shape = network().state_dict() | {"0.bias": torch.ones(4)}
    with pytest.raises(UserError, match=r"0\.bias has shape \(4,\); the network's has \(3,\)"):
        load_into(network(), kept(tmp_path / "shape.pt", **shape), READER)


def test_classes_in_a_checkpoint_are_made_only_where_they_are_allowed(tmp_path: Path) -> None:
    weights = network().state_dict()
    path = kept(
        tmp_path / "net.ckpt",
        state_dict=weights,
        hyper_parameters=argparse.Namespace(folder=Path("data")),
    )
    with pytest.raises(UserError, match=r"makes argparse\.Namespace, pathlib.*--allow"):
        load_into(network(1), path, READER)
    with pytest.raises(UserError, match=r"makes pathlib"):
        load_into(network(1), path, Reader(allow=["argparse.Namespace"]))
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    for reader in (Reader(allow=names), Reader(trust=True)):
        other = network(1)
        load_into(other, path, reader)
        assert torch.equal(other.state_dict()["0.bias"], weights["0.bias"])


class Calls:
    """Pickled, it is a call."""

    def __init__(self, function: Callable[..., object], *given: object) -> None:
        self.call = function, given

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize(
    "call",
    [
        Calls(exec, "raise SystemExit('it ran')"),
        Calls(os.system, "touch ran"),
        Calls(getattr, "word", "upper"),
        Calls(runpy.run_path, "ran.py"),
        Calls(subprocess.Popen, ["touch", "ran"]),  # a class that runs code
        Calls(torch.hub.load_state_dict_from_url, "http://nowhere"),
    ],
    ids=["exec", "system", "getattr", "run_path", "Popen", "hub"],
)
def test_what_runs_code_is_never_offered_and_never_allowed(tmp_path: Path, call: Calls) -> None:
    path = kept(tmp_path / "net.ckpt", state_dict=network().state_dict(), more=call)
    with pytest.raises(UserError, match=r"would call \S+, which may run code; --trust") as refused:
        READER.content(path)
    assert "--allow" not in str(refused.value)
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    with pytest.raises(UserError, match=r"--allow \S+: is no class that is here, or one that may"):
        Reader(allow=names).content(path)


def test_a_module_that_a_file_names_is_read_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "not_ours").mkdir()
    (tmp_path / "not_ours" / "__init__.py").touch()
    source = "raise SystemExit('it ran')\nclass Config: ...\ndef call(): ..."
    (tmp_path / "not_ours" / "inside.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    assert holds_values("not_ours.inside.Config")
    assert not holds_values("not_ours.inside.call")
    assert not holds_values("not_ours.nowhere.Config")


def test_numbers_of_numpy_are_read_once_they_are_allowed(tmp_path: Path) -> None:
    path = kept(tmp_path / "net.ckpt", best=np.float64(0.5), curve=np.arange(3))
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    with pytest.raises(UserError, match=r"--allow numpy\._core\.multiarray\._reconstruct,"):
        READER.content(path)
    assert Reader(allow=names).content(path)["best"] == 0.5


@pytest.mark.parametrize("content", ["", "{", "[]", '{"global_step": null}', "[" * 100_000])
def test_a_state_of_the_trainer_that_was_cut_off_is_told(tmp_path: Path, content: str) -> None:
    torch.save(network().state_dict(), tmp_path / "pytorch_model.bin")
    (tmp_path / "trainer_state.json").write_text(content)
    with pytest.raises(UserError, match=r"trainer_state\.json: says no global_step.* --steps"):
        steps_of([tmp_path], (), READER)
    assert steps_of([tmp_path], (7,), READER) == {7: tmp_path}


def test_a_file_that_is_none_of_weights_is_refused_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "step=1.ckpt"
    text.write_text("hello")
    with pytest.raises(UserError, match=r"step=1\.ckpt: ") as refused:
        READER.content(text)
    assert "\n" not in str(refused.value)
    whole = kept(tmp_path / "whole.pt", weight=torch.ones(1000))
    for bytes_left in (0, 100, 2000):
        (tmp_path / "part.pt").write_bytes(whole.read_bytes()[:bytes_left])
        with pytest.raises(UserError, match=r"part\.pt: is no file of weights that torch reads"):
            READER.content(tmp_path / "part.pt")
    with pytest.raises(UserError, match="holds a Tensor"):
        torch.save(torch.ones(2), tmp_path / "tensor.pt")
        READER.content(tmp_path / "tensor.pt")
    with pytest.raises(UserError, match=r"has no model\.safetensors and no pytorch_model\.bin"):
        READER.content(tmp_path)


def test_safetensors_are_read_by_their_own_loader(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    original, other = network(0), network(1)
    safetensors.save_file(original.state_dict(), tmp_path / "model.safetensors")
    load_into(other, tmp_path, READER)
    assert torch.equal(other.state_dict()["0.weight"], original.state_dict()["0.weight"])
