"""Many networks in one run are the runs that each would be alone: equal up to rounding."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ntkexp.checkpoint import restored, saved
from ntkexp.errors import Diverged, UserError
from ntkexp.training.members import side_by_side as members
from tests.tiny_runs import TINY, assert_agree, goes_on, table, train

pytestmark = pytest.mark.usefixtures("made_images")

# float32 sums taken in another order differ by parts in 1e7; updates make more of it.
ROUNDING = (2e-3, 2e-4)
WORDS = (
    *TINY,
    "model=mlp",
    "data=mnist",
    "model.depth=2",
    "model.width=9",
    "optim.steps=30",
    "optim.lr=0.05",
    "probe=[spectrum,complexity]",
)
SEEDS = (3, 1, 7)


@pytest.mark.parametrize(
    "model", ["mlp", "resnet18", pytest.param("vgg11", marks=pytest.mark.on_demand)]
)
def test_every_table_is_those_of_the_runs_alone_with_a_column(model: str, tmp_path: Path) -> None:
    words = WORDS
    if model != "mlp":
        words = (*TINY, f"model={model}", "model.base=2", "data=cifar10", "optim.steps=6")
        words += ("optim.lr=0.01", "probe=[complexity]")
    if model == "resnet18":  # batch normalisation makes more of rounding
        words += ("optim.lr=0.0005", "optim.steps=4")
    together = train(tmp_path, *words, f"members={{seed: {list(SEEDS)}}}")
    tables = sorted(path.stem for path in together.glob("*.parquet"))
    assert "members" in tables and "evals" in tables
    weights = torch.load(together / "weights.pt")
    for place, seed in enumerate(SEEDS):
        alone = train(tmp_path, *words, f"seed={seed}")
        for name in tables:
            if name == "members":
                continue
            both = table(together, name)
            assert both.columns[0] == "seed"
            own = both[both["seed"] == seed].drop(columns="seed").reset_index(drop=True)
            assert_agree(own, table(alone, name), *ROUNDING)
        for name, weight in torch.load(alone / "weights.pt").items():
            torch.testing.assert_close(weights[name][place], weight, rtol=1e-2, atol=1e-4)
    ends = table(together, "members")
    assert ends["outcome"].tolist() == ["finished"] * 3


def test_keys_make_all_combinations(tmp_path: Path) -> None:
    words = (*WORDS, "probe=[]", "optim.steps=4")
    run = train(
        tmp_path, *words, 'members={seed: "range(2)", optim.lr: [0.1, 0.2], data.noise: [0]}'
    )
    ends = table(run, "members")
    assert ends[["seed", "optim.lr"]].to_numpy().tolist() == [
        [0, 0.1],
        [0, 0.2],
        [1, 0.1],
        [1, 0.2],
    ]
    steps = table(run, "steps")
    assert (steps["optim.lr"] == steps["lr"]).all()
    assert len(steps) == 16


@pytest.mark.parametrize(
    ("key", "values", "words"),
    [
        ("model.weights", ["he", "lecun"], ["probe=[spectrum]"]),
        ("model.gain", [1.0, 0.5], ["probe=[spectrum]", "transform=alpha_scale"]),
        # In function space each has a kernel of its own, also where their weights are equal.
        ("model.activation", ["relu", "linear"], ["probe=[spectrum]", "transform=linearise"]),
        ("model.activation", ["relu", "linear"], ["transform=linearise", "transform.route=disk"]),
    ],
    ids=["weights", "gain", "in function space", "on disk"],
)
def test_options_of_the_network_may_differ_that_leave_it_one_function_of_its_weights(
    key: str, values: list[object], words: list[str], tmp_path: Path
) -> None:
    words = ["probe=[]", *words]
    base = (*WORDS, "model=bias_free_mlp", "optim.lr=0.02", "optim.steps=8", *words)
    together = train(tmp_path, *base, f"members={{{key}: [{', '.join(map(str, values))}]}}")
    for value in values:
        alone = train(tmp_path, *base, f"{key}={value}")
        for name in ("steps", "evals"):
            both = table(together, name)
            own = both[both[key] == value].drop(columns=key).reset_index(drop=True)
            assert_agree(own, table(alone, name), *ROUNDING)


def test_one_may_diverge_and_one_be_fitted_early(tmp_path: Path) -> None:
    words = [word for word in WORDS if "steps" not in word and "stop_loss" not in word]
    words += ["optim.steps=200", "optim.stop_loss=0.25", "optim.lr=0.1", "probe=[spectrum]"]
    rates = [0.0002, 0.1, 1e30]
    together = train(tmp_path, *words, f"members={{optim.lr: {rates}}}")
    ends = table(together, "members").set_index("optim.lr")
    assert ends["outcome"].to_dict() == {0.0002: "finished", 0.1: "finished", 1e30: "diverged"}
    assert ends["step"][0.1] < ends["step"][0.0002] == 200
    for rate in rates[:2]:
        alone = train(tmp_path, *words, f"optim.lr={rate}")
        for name in ("steps", "evals", "spectrum"):
            both = table(together, name)
            own = both[both["optim.lr"] == rate]
            assert own["step"].tolist() == table(alone, name)["step"].tolist()


def test_the_end_of_one_that_diverges_does_not_depend_on_when_its_loss_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*WORDS, "probing.spacing=list", "probing.steps=[0]", "probe=[complexity]")
    words = (*words, "members={optim.lr: [0.01, 1e4]}")
    seldom = train(tmp_path / "seldom", *words)
    monkeypatch.setattr(members, "BURST_SECONDS", 0.0)
    often = train(tmp_path / "often", *words)
    ends = table(seldom, "members").set_index("optim.lr")
    steps = table(seldom, "steps")
    assert ends["outcome"][1e4] == "diverged"
    # The update whose loss was not finite was made, and has no row.
    assert ends["step"][1e4] == steps[steps["optim.lr"] == 1e4]["step"].max() + 2 < 30
    for name in ("members", "steps", "complexity"):
        # Rows come when losses are fetched.
        one, other = (
            table(run, name).pipe(lambda rows: rows.sort_values([*rows], ignore_index=True))
            for run in (seldom, often)
        )
        assert one.equals(other), name


def test_a_probe_of_updates_is_no_reason_to_call_a_divergence_bad_input(tmp_path: Path) -> None:
    with pytest.raises(Diverged, match=r"the loss is not finite at step [2-6];"):
        train(tmp_path, *WORDS, "probe=[complexity]", "optim.lr=1e4")


@pytest.mark.parametrize("stop_at", [7, 23, pytest.param(1, marks=pytest.mark.on_demand)])
def test_they_go_on_where_they_were_cut_short(stop_at: int, tmp_path: Path) -> None:
    words = (*WORDS, 'members={seed: "range(3)"}', "optim.stop_loss=1.0")
    goes_on(tmp_path, *words, "probing.losses=[2.0, 1.5]", stop_at=stop_at)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["members={seed: 3}"], "members.seed=3: expected a list"),
        (["members={seed: []}"], "expected a list"),
        (["members={seed: [1, 1]}"], "stands there twice"),
        (["members={seed: [1, a]}"], "all of one kind"),
        (
            ["members={sead: [1, 2]}"],
            "members.sead: no such key; did you mean seed\\?\nthe top level takes: ",
        ),
        (["members={device: [cpu, cuda]}"], "all networks of a run have one device"),
        (['members={seed: "range(1000000)"}'], "at most 100,000"),
        (["members={data.train_examples: [30, 60]}"], "as many training"),
        (["members={tf32: [true, false]}"], "all networks of a run have one tf32"),
        (["members={model.width: [9, 8]}"], r"members.model.width: hidden1.weight is \(9, 784\)"),
        (["members={model.depth: [2, 3]}"], "members.model.depth: .* is missing in one network"),
        (
            ["members={model.width: [9, 8]}", "transform=linearise", "probe=[]"],
            r"members.model.width: hidden1.weight is \(9, 784\) in one network and \(8, 784\)",
        ),
        # Weights of equal shapes, of which the networks make different functions.
        (
            ["model=bias_free_mlp", "members={model.activation: [relu, linear]}"],
            "members.model.activation: makes another function",
        ),
        (
            ["model=bias_free_mlp", "members={model.weights: [he, ntk_he], model.gain: [1, 2]}"],
            "members.model.weights: makes another function",
        ),
        (
            ["members={seed: [1, 2]}", "probe=[complexity]", "probe.complexity.batch=minibatch"],
            "looks at the forward",
        ),
        (
            ["members={seed: [1, 2]}", "optim=tests.optim.made_fisher.Fisher"],
            "optim=tests.optim.made_fisher.Fisher looks at the forward",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: list[str], said: str, tmp_path: Path) -> None:
    base = [w for w in WORDS if not any(w.split("=")[0] == x.split("=")[0] for x in words)]
    with pytest.raises(UserError, match=said):
        train(tmp_path, *base, *words)
    assert not list(tmp_path.iterdir())


def test_files_that_members_do_not_have_alike_are_kept_one_by_one() -> None:
    def work(**files: bytes) -> SimpleNamespace:
        return SimpleNamespace(
            last=1,
            offers=frozenset(),
            files=lambda: {name.replace("_", "."): content for name, content in files.items()},
        )

    same, wide = saved({"w": torch.ones(2)}), saved({"w": torch.ones(3)})
    works = [work(same_pt=same, width_pt=same, scores_npz=b"0", own_pt=same),
             work(same_pt=same, width_pt=wide, scores_npz=b"1")]  # fmt: skip
    files = members.Members(works, [{}, {}], []).files()
    assert restored(files.pop("same.pt"))["w"].shape == (2, 2)
    assert files == {
        "0.width.pt": same, "1.width.pt": wide, "0.scores.npz": b"0", "1.scores.npz": b"1",
        "0.own.pt": same,
    }  # fmt: skip
