"""Today's networks: our kernel against torch.func's, in turns, warm, in one process.

    python scripts/bench_nets.py                   # all, about 20 minutes on two idle cores
    python scripts/bench_nets.py --net resnet18 --rounds 5

For each network: n = 8 inputs, c = 10 outputs, 3 x 32 x 32 unless it says otherwise. The peer takes
per-example Jacobians with vmap(jacrev) and multiplies them, by groups of parameters where the whole
Jacobian is beyond `--room` bytes. Times are medians over rounds in which the two take turns after
one round that does not count. A ratio above 1 means that ours is faster. `difference` is between
the two kernels in float64, relative to the largest entry.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ntkexp.data.torchvision_import import torchvision_datasets
from ntkexp.tangent import TangentKernel, tangent_kernel

EXAMPLES, CLASSES = 8, 10
ROOM_BYTES = 3 * 2**30


class GPT(nn.Module):
    """Two blocks, causal, with the embedding as the last layer's weight too."""

    def __init__(self, words: int = 64, width: int = 64, length: int = 32) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.embed(tokens) + self.place(torch.arange(length, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        x = self.blocks(x, mask=mask.to(x), is_causal=True)
        logits: Tensor = self.head(self.norm(x[:, -1]))
        return logits[:, :CLASSES]


class Recurrent(nn.Module):
    """An LSTM or a GRU with a linear layer on its last output."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU]) -> None:
        super().__init__()
        self.inner, self.head = kind(32, 64, batch_first=True), nn.Linear(64, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        head: Tensor = self.head(self.inner(x)[0][:, -1])
        return head


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend, self.head = nn.MultiheadAttention(64, 4, batch_first=True), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        head: Tensor = self.head((x + self.attend(x, x, x, need_weights=False)[0]).mean(1))
        return head


def _of_torchvision(name: str, **options: int) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        torchvision_datasets()  # where torchvision's compiled part is missing, it imports without
        from torchvision import models

        return models.get_model(name, num_classes=CLASSES, **options)  # type: ignore[no-any-return]

    return build


def _encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True)
    return nn.Sequential(
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        nn.Flatten(),
        nn.Linear(16 * 64, CLASSES),
    )


def _regression() -> nn.Module:
    return nn.Sequential(
        nn.Linear(8, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)
    )


IMAGES, SEQUENCE = (3, 32, 32), (16, 64)
NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    **{
        name: (_of_torchvision(name), IMAGES)
        for name in (
            "resnet18",
            "resnet50",
            "vgg16_bn",
            "densenet121",
            "mobilenet_v2",
            "mobilenet_v3_small",
            "efficientnet_b0",
            "convnext_tiny",
            "swin_t",
        )
    },
    "vit_b_16": (_of_torchvision("vit_b_16", image_size=32), IMAGES),
    "gpt": (GPT, ()),
    "encoder": (_encoder, SEQUENCE),
    "attention": (Attention, SEQUENCE),
    "lstm": (lambda: Recurrent(nn.LSTM), (16, 32)),
    "gru": (lambda: Recurrent(nn.GRU), (16, 32)),
    "regression": (_regression, (8,)),
}


@dataclass
class Row:
    net: str
    parameters: int
    ours_seconds: float
    peer: str
    peer_seconds: float
    ratio: float
    difference: float
    tflop: float
    fallback: str


def of_torch_func(model: nn.Module, inputs: Tensor, room_bytes: int = ROOM_BYTES) -> Tensor:
    """sum over groups of parameters of J J^T."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gram: Tensor | None = None
    for group in _groups(parameters, len(inputs) * CLASSES, room_bytes):
        rest = {name: p for name, p in parameters.items() if name not in group}

        def one(given: dict[str, Tensor], x: Tensor, rest: dict[str, Tensor] = rest) -> Tensor:
            found: Tensor = functional_call(model, {**rest, **given}, (x.unsqueeze(0),))
            return found.squeeze(0)

        for rows in vmap(jacrev(one), (None, 0))(group, inputs).values():
            flat = rows.flatten(0, 1).flatten(1)
            gram = flat @ flat.t() if gram is None else gram.addmm_(flat, flat.t())
    assert gram is not None
    return gram


def of_loops(model: nn.Module, inputs: Tensor, room_bytes: int = ROOM_BYTES) -> Tensor:
    """One backward for each output of each input: where vmap cannot follow the network."""
    parameters = [*model.parameters()]
    rows = []
    for example in inputs:
        for value in model(example.unsqueeze(0)).flatten():
            grads = torch.autograd.grad(value, parameters, retain_graph=True)
            rows.append(torch.cat([grad.flatten() for grad in grads]))
    whole = torch.stack(rows)
    return whole @ whole.t()


def _groups(
    parameters: dict[str, Tensor], rows: int, room_bytes: int
) -> Iterator[dict[str, Tensor]]:
    group: dict[str, Tensor] = {}
    for name, value in parameters.items():
        if group and rows * (sum(p.nbytes for p in group.values()) + value.nbytes) > room_bytes:
            yield group
            group = {}
        group[name] = value
    yield group


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measured(name: str, rounds: int, room_bytes: int, exact: bool) -> Row:
    torch.manual_seed(0)
    build, shape = NETS[name]
    model = build().eval()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            assert module.running_var is not None
            module.running_var.uniform_(0.5, 1.5)
    inputs = torch.randn(EXAMPLES, *shape) if shape else torch.randint(0, 64, (EXAMPLES, 32))
    ours, theirs = [], []
    kernel: TangentKernel = tangent_kernel(model, inputs)
    peer_name, of_peer = "torch.func", of_torch_func
    try:
        of_peer(model, inputs, room_bytes)
    except RuntimeError:  # torch.func does not follow recurrent layers
        peer_name, of_peer = "autograd loops", of_loops
        of_peer(model, inputs, room_bytes)
    for _ in range(rounds):
        ours.append(_seconds(lambda: tangent_kernel(model, inputs)))
        theirs.append(_seconds(lambda: of_peer(model, inputs, room_bytes)))
    difference = float("nan")
    if exact:
        double = copy.deepcopy(model).double()
        given = inputs.double() if inputs.is_floating_point() else inputs
        try:
            truth = of_peer(double, given, room_bytes)
        except RuntimeError:  # an LSTM in float64 is another operation than in float32
            truth = of_loops(double, given)
        found = tangent_kernel(double, given).gram
        difference = float((found - truth).abs().max() / truth.abs().max())
    mine, peer = statistics.median(ours), statistics.median(theirs)
    return Row(
        net=name,
        parameters=sum(p.numel() for p in model.parameters()),
        ours_seconds=mine,
        peer=peer_name,
        peer_seconds=peer,
        ratio=peer / mine,
        difference=difference,
        tflop=kernel.plan.flops / 1e12,
        fallback=", ".join(kernel.fallback) or "-",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--net", nargs="+", choices=NETS, default=[*NETS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--room", type=int, default=ROOM_BYTES, help="bytes for the peer's Jacobian"
    )
    parser.add_argument("--no-float64", action="store_true", help="leave out the difference")
    parser.add_argument("--out", type=Path, help="a .csv file")
    options = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads", flush=True)
    rows = []
    for name in options.net:
        row = measured(name, options.rounds, options.room, not options.no_float64)
        rows.append(asdict(row))
        print(
            f"{name:<20}{row.parameters / 1e6:7.1f} M  {row.ours_seconds:8.3f} s  {row.peer} "
            f"{row.peer_seconds:8.3f} s  ratio {row.ratio:6.2f}  difference {row.difference:.1e}  "
            f"{row.tflop:.4f} TFLOP  fallback {row.fallback}",
            flush=True,
        )
        if options.out is not None:
            lines = [",".join(rows[0])] + [
                ",".join(str(v).replace(",", ";") for v in r.values()) for r in rows
            ]
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
