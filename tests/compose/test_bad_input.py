"""Whatever is typed wrong: exit 2, a few lines that name it, no traceback, nothing left behind."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp import components, probes, studies
from ntkexp.components import inside
from ntkexp.compose.finalise import finalise
from ntkexp.config import TrainConfig
from ntkexp.errors import UserError
from tests.conftest import Ntkexp
from tests.tiny_runs import composed

DISK = ("train", "+exp=disk")
MNIST = ("train", "+exp=mlp_mnist")
SUPERNAT = ("study", "+exp=supernat")
RADEMACHER = ("study", "+exp=rademacher")

# The words, and what must be named on stderr.
REFUSED: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    # groups
    *(
        ((*DISK, f"{group}=null"), (f"{group}=null", choice))
        for group, choice in (
            ("data", "mnist"),
            ("probe", "spectrum"),
            ("launcher", "slurm"),
        )
    ),
    (("train", "+exp=null"), ("+exp=null", "ntkexp list")),
    (("train", "+exp=[disk,mlp_mnist]"), ("+exp=[disk,mlp_mnist]", "one of")),
    (("train", "exp=disk"), ("exp=disk", "+exp=disk")),
    (
        ("train", "data=mnist", "model=mlp", "probe=[decision_map]", "optim.steps=1"),
        ("probe.decision_map", "data=mnist has inputs of 1x28x28"),
    ),
    (("train", "+exp=dsik"), ("exp=dsik: no such experiment; did you mean disk? (ntkexp list",)),
    ((*DISK, "probe=3"), ("probe=3", "spectrum")),
    ((*DISK, "probe.eigenfunctions=3"), ("probe.eigenfunctions=3", "mapping")),
    ((*DISK, "data=[mnist,disk]"), ("data=[mnist,disk]", "disk")),
    ((*DISK, "~optim"), ("~optim", "optim=NAME")),
    ((*DISK, "~optim.lrr"), ("~optim.lrr", "expected optim.lrr=VALUE")),
    ((*DISK, "optm.lr=0.1"), ("optm.lr: no such key; did you mean optim?",)),
    (("train", "disk"), ("'disk': cannot be read (no =); expected +exp=disk",)),
    (("train", "exp/mine.yaml"), ("expected --config-dir FOLDER +exp=NAME for the file FOLDER/",)),
    (("train", "+exp=lazy"), ("ntkexp list lazy has those of this paper",)),
    ((*DISK, "--lr", "0.1"), ("--lr: no such flag", "keys are typed KEY=VALUE")),
    (("run", "+exp=disk"), ("run: no such command; did you mean train?",)),
    (("options", "model", "mlp"), ("options mlp: no such group; did you mean model=mlp?",)),
    ((*DISK, "loss=mse"), ("loss: no such key; did you mean objective?",)),
    ((*DISK, "activation=tanh"), ("no such key; did you mean model.activation?",)),
    ((*DISK, "objective=mse"), ("no such option; did you mean squared_error?",)),
    ((*DISK, "data.noise=0.1"), ("data.noise: no such key; data=cifar10, kmnist, mnist, noisy_d",)),
    ((*DISK, "model=my:Net"), ("model=my:Net: no such option; expected model=my.Net",)),
    ((*DISK, "evaluate.subsets.noisy=1"), ("evaluate.subsets is a list; expected evaluate.s",)),
    ((*DISK, "members.seed=[0,1]"), ("members.seed: no such key; expected 'members={seed:",)),
    ((*DISK, "model=.mine.Net"), ("model=.mine.Net: ", "expected MODULE.CLASS")),
    ((*DISK, "optim={lrr: 0.1}"), ("optim.lrr: no such key; did you mean lr?", "batch_size")),
    ((*DISK, "+exp=mlp_mnist"), ("exp: chosen twice", "+exp=NAME")),
    ((*DISK, "recipe=nope"), ("recipe takes: paper, released",)),
    ((*DISK, "members={}"), ("members={}", "seed")),
    ((*DISK, "++data=mnist"), ("++data=mnist", "data=mnist")),
    ((*SUPERNAT, "study=null"), ("study=null", "rademacher")),
    # words that are no overrides, and Hydra's own
    ((*DISK, "foo"), ("foo", "key=value")),
    ((*DISK, ""), ("''", "key=value")),
    ((*DISK, "seed=[1,2"), ("seed=[1,2", "cannot be read", "expected key=value")),
    ((*DISK, "seed=1,2"), ("seed=1,2", "-m")),
    ((*DISK, "seed=${foo}"), ("foo", "not found")),
    ((*DISK, "optim.lr=${optim.lr}"), ("ecursive",)),
    ((*DISK, "optim.lr=???"), ("optim.lr", "has no value")),
    ((*DISK, "probing.losses=[0.5,???]"), ("probing.losses", "Missing value at index 1")),
    ((*DISK, "probing.losses=['${foo}']"), ("probing.losses", "'foo' not found")),
    ((*DISK, "--resolve"), ("--resolve", "--cfg job")),
    ((*DISK, "--cfg"), ("--cfg", "one argument")),
    ((*DISK, "--cfg", "foo"), ("--cfg", "'foo'", "job")),
    ((*DISK, "--info", "foo"), ("--info", "'foo'", "searchpath")),
    ((*DISK, "--config-dir", "nowhere"), ("config directory", "nowhere' not found")),
    ((*DISK, "--cfg", "job", "--dry-run"), ("--multirun and --cfg", "one of them")),
    ((*DISK, "--info", "all", "-m", "seed=0,1"), ("--multirun and --info", "one of them")),
    ((*DISK, "--cfg", "job", "--package", "nowhere"), ("nowhere", "not found")),
    ((*DISK, "hydra.sweep.dir=x"), ("hydra.sweep.dir=x", "paths.outputs")),
    ((*DISK, "hydra.job.chdir=true"), ("hydra.job.chdir=true", "paths.outputs")),
    ((*DISK, "hydra=null"), ("hydra=null",)),
    ((*DISK, "hydra/launcher=joblib", "-m"), ("hydra/launcher=joblib", "slurm")),
    # sweeps
    ((*DISK, "-m", "seed=range(0)"), ("seed=range(0)", "has no values")),
    ((*DISK, "-m", "seed=choice()"), ("seed=choice()",)),
    ((*DISK, "-m", "seed=range(1,2,0)"), ("seed=range(1,2,0)", "must not be zero")),
    ((*DISK, "-m", "seed=range(0,inf)"), ("seed=range(0,inf)", "10,000")),
    ((*DISK, "-m", "seed=interval(0,1)"), ("seed=interval(0,1)", "range")),
    ((*DISK, "-m", "seed=range(1000000)", "--dry-run"), ("seed=range(1000000)", "10,000")),
    (
        (*DISK, "-m", "seed=range(200)", "optim.lr=range(0.1,1,0.001)"),
        ("180,000", "10,000"),
    ),
    ((*DISK, "-m", "launcher.name=foo"), ("launcher.name=foo", "local")),
    ((*DISK, "launcher=slurm"), ("launcher=slurm: sends the jobs of a sweep; expected -m",)),
    ((*DISK, "launcher=slurmm"), ("launcher=slurmm: no such option; did you mean slurm?",)),
    ((*DISK, "-m", "seed=[0,1]"), ("seed=[0,1]: expected a whole number", "-m seed=0,1")),
    ((*DISK, "seed=0-3"), ("seed=0-3", "-m seed=0,1 or -m 'seed=range(0,4)'")),
    ((*DISK, "weights=weights.pt"), ("{key: value} of run, set, file",)),
    ((*DISK, "-m", "launcher=slurm", "launcher.cluster=foo"), ("launcher.cluster=foo", "slurm")),
    ((*DISK, "-m", "launcher=slurm", "launcher.folder="), ("launcher.folder=''", "folder")),
    ((*DISK, "-m", "launcher=slurm", "launcher.sbatch=3"), ("launcher.sbatch=3", "mapping")),
    # the other commands: known before the minutes that they take
    (("figures", "--out", "/dev/null/x"), ("cannot write /dev/null/x",)),
    (("figures", "--runs", "nowhere"), ("--runs nowhere",)),
    (("figures", "nope"), ("nope", "alignment")),
    (("report", "--out", "/dev/null/x/page.html"), ("cannot write /dev/null/x",)),
    (("report", "--out", "/"), ("--out /", "a file")),
    (("report", "--figures", "nowhere"), ("--figures nowhere", "no such folder")),
    (("report", "--bench", "nowhere"), ("--bench nowhere", "no such folder")),
    (("claims", "--paper", "nope"), ("--paper nope", "lazy")),
    (("claims", "--figure", "99", "--paper", "lazy"), ("--figure 99",)),
    (("data", "nope"), ("nope", "cifar10")),
    (("show", "nowhere"), ("nowhere", "ntkexp list")),
    (("show", ""), ("ntkexp show ''", "ntkexp list")),
    (("list", "nope"), ("nope",)),
    (("figures", "alignment", "2", "--exp", "a", "--width", "wide"), ("wide: expected inches",)),
    (("complete",), ("complete: no such command",)),
    (("complete", "ntkexp", "train"), ("complete: no such command",)),
    # names and folders
    ((*DISK, "name=../../escape"), ("name=../../escape", "letters")),
    ((*DISK, "name="), ("name=''", "letters")),
    ((*DISK, 'name="a\nb"'), ("name='a\\nb'", "letters")),
    ((*DISK, "name=.hidden"), ("name=.hidden", "letters")),
    ((*DISK, "paths.outputs="), ("paths.outputs=''", "folder")),
    # what does not fit, and what would never end
    ((*DISK, "model.width=10000000"), ("model.width=10000000", "parameters, velocity", "GiB")),
    (("train", "+exp=vgg19_clean", "model.base=1000000"), ("model.base=1000000", "GiB")),
    ((*DISK, "model.depth=100000"), ("model.depth=100000", "1,000")),
    ((*DISK, "data.grid=100000"), ("data.grid=100000", "10,000 points")),
    ((*DISK, "data.grid=2000"), ("data.grid=2000", "probe.eigenfunctions", "GiB")),
    ((*DISK, "probing.growth=1.0000000001"), ("probing.growth=1.0000000001", "1.001")),
    # values
    ((*DISK, "seed=-1"), ("seed=-1", "4294967295")),
    ((*DISK, "seed=1.5"), ("seed=1.5", "whole number")),
    ((*DISK, "progress=maybe"), ("progress=maybe: expected true or false",)),
    ((*DISK, "model.width=abc"), ("model.width=abc: expected a whole number, not 'abc'",)),
    (
        (*DISK, "members={model.width: [abc]}"),
        ("members.model.width=abc: expected a whole number",),
    ),
    ((*DISK, "paths=[]"), ("paths=[]", "mapping")),
    ((*DISK, "optim.lr=inf"), ("optim.lr=inf", "above 0")),
    ((*DISK, "optim.weight_decay=1e300"), ("optim.weight_decay=1e+300", "1e+30")),
    ((*DISK, "probing.steps=[-5]"), ("probing.steps=[-5]", "each")),
    ((*DISK, "probing.spacing=list"), ("probing.steps=[]",)),
    ((*DISK, "evaluate.train_examples=-5"), ("evaluate.train_examples=-5", "null for all")),
    ((*DISK, "probe.eigenfunctions.count=2500"), ("count=2500", "2,499")),
    ((*DISK, "device=cuda:-1"), ("device=cuda:-1", "cuda:N")),
    ((*DISK, "model.name=vgg"), ("model.name=vgg", "mlp")),
    ((*DISK, "weights.run=nowhere"), ("weights.run=nowhere", "ntkexp list")),
    ((*DISK, "weights.run=disk"), ("weights: needs weights.pt", "--with-parents")),
    ((*DISK, "weights={run: disk, set: {nope: 1}}"), ("weights.set.nope",)),
    ((*DISK, "weights.fresh=[output]"), ("weights.fresh", "weights.run")),
    ((*DISK, "transform=alpha_scale", "transform.alpha=inf"), ("transform.alpha=inf", "finite")),
    ((*DISK, "transform=linearise", "transform.route=nope"), ("transform.route=nope", "disk")),
    ((*DISK, "objective_metric=evals.nope"), ("objective_metric=evals.nope", "loss")),
    ((*DISK, "logger=[wandb,nope]"), ("logger=nope", "tensorboard")),
    ((*DISK, "evaluate.metrics=[nope]"), ("evaluate.metrics=nope", "mean_margin")),
    ((*DISK, "members={model.width: [8, 9]}"), ("members.model.width", "one architecture")),
    (("train", "+exp=vgg19_clean", "data=mnist"), ("model.name=vgg", "32x32")),
    (("train", "+exp=resnet18_cifar10", "data=disk"), ("model.name=resnet18", "images")),
    ((*SUPERNAT, "study.sigma2=nan"), ("study.sigma2=nan", "finite")),
    ((*SUPERNAT, "study.compared_kappas=3"), ("study.compared_kappas", "list")),
    ((*RADEMACHER, "study.sizes=[2,null]"), ("study.sizes=[2,null]", "null")),
    # what a hint names: the key that was meant, what there is, the other command
    (("train", "optim.lrr=0.1"), ("optim.lrr", "did you mean lr?", "momentum")),
    (("train", "+exp=disk", "+optim.nesterov=true"), ("optim.nesterov", "momentum")),
    (("train", "+exp=disk", "+foo=1"), ("foo", "the top level takes", "seed")),
    (("train", "+exp=disk", "probe.complexity.every=2"), ("complexity", "probe=[eigenfunctions,")),
    (("train", "+exp=disk", "+probe.eigenfunctions.bar=1"), ("eigenfunctions.bar", "centring")),
    (("train", "+exp=disk", "model=vgg19"), ("takes 32x32 images", "model=mlp takes any")),
    (("train", "+exp=disk", "--rreun"), ("--rreun", "did you mean --rerun?")),
    (("train", "+exp=supernat"), ("exp=supernat", "ntkexp study +exp=supernat")),
    (("study", "+exp=disk"), ("exp=disk", "ntkexp train +exp=disk")),
    (("study", "+exp=supernat", "+study.foo=1"), ("study.foo", "kappa")),
    (("train",), ("optim.epochs", "+exp=NAME")),
    (("train", "optim.lr=abc"), ("optim.lr=abc: expected a number",)),
    (("train", "data=mnits"), ("data=mnits", "did you mean mnist?", "cifar10")),
    (("train", "data.noise=1.5", "optim.steps=1"), ("data.noise=1.5", "from 0 to 1")),
    (("train", "model.base=8"), ("model.base", "width")),
    (("train", "optim.schedule=stairs"), ("optim.schedule=stairs", "cosine")),
    (("train", "+exp=dsk"), ("exp=dsk", "did you mean disk?")),
    (("train", "+exp=disk", "device=tpu"), ("device=tpu", "cpu")),
    (("train", "+exp=mlp_mnist", "probe.alignment.subsets=true"), ("difficult", "mnist")),
    (("train", "+exp=mlp_mnist", "probe.spectrum.centring=joined"), ("centring", "joint")),
    (("train", "+exp=mlp_mnist", "probe=[eigenfunctions]"), ("eigenfunctions", "disk")),
    (("train", "data.difficult=kmnist", "optim.steps=1"), ("data.difficult_examples", "kmnist")),
    (("trian",), ("trian: no such command; did you mean train?", "completion")),
    (("completion", "tcsh"), ("tcsh", "bash")),
]

# Refused only once data, model and probes are built: the folder is there by then.
REFUSED_LATE: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((*MNIST, "data.train_examples=1000000"), ("data.train_examples", "1,000,000", "300")),
    ((*MNIST, "data.test_examples=1000"), ("data.test_examples=1,000", "60")),
    ((*DISK, "probing.examples=501", "probe=[spectrum]"), ("probing.examples=501", "500")),
    ((*DISK, "device=cuda:99"), ("device=cuda:99", "cpu")),
    ((*RADEMACHER, "members={study.seed: [0, 1]}"), ("study=rademacher", "no steps", "-m")),
    (
        (*DISK, "transform=linearise", "probe=[adapted_kernel]"),
        ("probe.adapted_kernel", "activations"),
    ),
]


def assert_refused(done: Any, told: tuple[str, ...], folder: Path) -> None:
    """Exit 2, at most three lines that name everything in `told`, and no folder."""
    assert done.returncode == 2, done.stderr
    lines = done.stderr.splitlines()
    assert 1 <= len(lines) <= 3, done.stderr
    assert "Traceback" not in done.stderr
    for part in told:
        assert part in done.stderr
    assert list(folder.rglob("*")) == []


@pytest.mark.parametrize(("words", "told"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_bad_words_are_refused_before_anything_is_written(
    inside: Ntkexp, tmp_path: Path, words: tuple[str, ...], told: tuple[str, ...]
) -> None:
    assert_refused(inside(*words), told, tmp_path)


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize(
    ("words", "told"), REFUSED_LATE, ids=[" ".join(words) for words, _ in REFUSED_LATE]
)
def test_what_only_the_data_or_the_machine_can_tell_is_refused_as_plainly(
    inside: Ntkexp, tmp_path: Path, words: tuple[str, ...], told: tuple[str, ...]
) -> None:
    done = inside(*words, "progress=false")
    assert_refused(done, told, tmp_path)


def test_a_cluster_that_is_not_here_is_refused(
    inside: Ntkexp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = inside(*DISK, "-m", "launcher=slurm")
    assert_refused(done, ("launcher=slurm", "launcher=local"), tmp_path)


def test_the_same_as_a_user_has_it(ntkexp: Ntkexp, tmp_path: Path) -> None:
    assert_refused(ntkexp(*RADEMACHER, "study.radius=inf"), ("study.radius=inf",), tmp_path)


# Values that mean nothing for a number, a switch or a choice; and numbers that may be meant.
NONSENSE: tuple[Any, ...] = (math.nan, math.inf, {"a": 1}, "foo bar", [[1]])
NUMBERS: tuple[Any, ...] = (None, -1, 2**70, "", [None])


def leaves(config: DictConfig, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every key with its value, nodes included."""
    for name in map(str, config):
        value = config[name]
        yield f"{where}{name}", value
        if isinstance(value, DictConfig):
            yield from leaves(value, f"{where}{name}.")


def outcome(pickled: bytes, key: str, value: object) -> str:
    """What is said of a value, "" where it is taken; anything else than a refusal is raised."""
    changed = pickle.loads(pickled)  # a copy, in a seventh of the time of deepcopy
    try:
        OmegaConf.update(changed, key, value, merge=True)
        finalise(changed, frozenset({key}))
        plain = OmegaConf.to_object(changed)
        assert isinstance(plain, TrainConfig)
        probes.build(plain.probe)
    except (UserError, OmegaConfBaseException) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        pytest.param(("+exp=disk",), None, id="disk"),
        pytest.param(
            ("+exp=resnet18_cifar10", "model.norm=none", "probe=[complexity,directions]"),
            ("data", "model", "probe"),
            id="resnet18",
            marks=pytest.mark.on_demand,
        ),
    ],
)
def test_no_value_of_any_key_of_training_ends_in_a_traceback(
    words: tuple[str, ...], nodes: tuple[str, ...] | None
) -> None:
    config = composed([*words, "optim.steps=1"])
    config.paths.outputs = "outputs"
    pickled = pickle.dumps(config)
    for key, value in leaves(config):
        if nodes is not None and key.partition(".")[0] not in nodes:
            continue
        for wrong in NONSENSE:
            said = outcome(pickled, key, wrong)
            number = isinstance(value, int | float)
            assert said or not number, f"{key}={wrong} is taken"
            if isinstance(wrong, float) and not isinstance(value, str):
                assert said, f"{key}={wrong} is taken"
        for maybe in () if isinstance(value, DictConfig) else NUMBERS:
            outcome(pickled, key, maybe)


PARTS = {"data": "disk", "model": "mlp", "objective": "usual", "optim": "sgd"}


@pytest.mark.parametrize("name", sorted({*studies.names()} - {"checkpoints"}))  # of ntkexp probe
def test_no_value_of_any_key_of_a_study_ends_in_a_traceback(name: str) -> None:
    options = inside(components.find("study", name))
    parts = {option: components.node_of(group, PARTS[group]) for option, group in options.items()}
    least = {"name": name, **parts}
    for one in fields(studies.choose(least)):
        if one.name == "name":
            continue
        for wrong in NONSENSE:
            with pytest.raises(UserError, match=rf"study\.{one.name}"):
                studies.choose({**least, one.name: wrong})
        for maybe in NUMBERS:
            try:
                studies.choose({**least, one.name: maybe})
            except UserError as error:
                assert "study." in str(error)
                assert len(str(error).splitlines()) == 1


def test_a_study_whose_numbers_overflow_is_refused_by_table_and_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = studies.choose({"name": "linear_modes", "n": 3, "features": 4, "iterations": 5})
    right = chosen.compute

    def overflowing() -> dict[str, Any]:
        found: dict[str, Any] = dict(right())
        found["linear_modes"]["measured"][2] = math.inf
        return found

    assert set(chosen.run()) == {table.name for table in chosen.tables}
    monkeypatch.setattr(chosen, "compute", overflowing)
    with pytest.raises(UserError, match=r"measured of table linear_modes is inf in row 2"):
        chosen.run()
