"""Today's networks: our kernel against torch.func's, in turns, warm, in one process.

    python scripts/bench/nets.py                   # all, about 20 minutes on two idle cores
    python scripts/bench/nets.py --net resnet18 --rounds 5 --out outputs/bench
    python scripts/bench/nets.py --net resnet18@224 vit_b_16@224 mobilenet_v2@224 --room 2000000000

For each network: n = 8 inputs, c = 10 outputs, 3 x 32 x 32 unless it says otherwise. The peer takes
per-example Jacobians with vmap(jacrev) and multiplies them, by groups of parameters where the whole
Jacobian is beyond `--room` bytes; where vmap cannot follow, one backward for each output of each
input. Times are medians over rounds in which the two take turns after one round that does not
count. A ratio above 1 means that ours is faster. FLOPs are counted by torch for both. `difference`
is between the two kernels in float64, relative to the largest entry. `peak` is what a call adds to
the resident memory of the process (Linux).
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import gc
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ntkexp.data.images.torchvision_import import torchvision_datasets
from ntkexp.results.benchmarks import write_timings
from ntkexp.scripts.bench.peers import ROOM_BYTES, in_turns, of_loops, of_torch_func
from ntkexp.tangent import tangent_kernel

EXAMPLES, CLASSES = 8, 10
# Below this the median is of ten times as many rounds: short calls waver most.
QUICK_SECONDS = 0.5


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


IMAGES, LARGE, SEQUENCE = (3, 32, 32), (3, 224, 224), (16, 64)
# For information, when asked for: both sides take minutes.
AT_224 = ("resnet18", "mobilenet_v2", "vit_b_16")
PLAIN = ("gpt", "lstm", "gru", "regression")
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
    **{f"{name}@224": (_of_torchvision(name), LARGE) for name in AT_224},
    "gpt": (GPT, ()),
    "encoder": (_encoder, SEQUENCE),
    "attention": (Attention, SEQUENCE),
    "lstm": (lambda: Recurrent(nn.LSTM), (16, 32)),
    "gru": (lambda: Recurrent(nn.GRU), (16, 32)),
    "regression": (_regression, (8,)),
}


@dataclass
class Row:
    """`goal` is the ratio asked for: 1, and with convolutions or attention 3, or 60 % of the ratio
    of FLOPs where that is less."""

    net: str
    parameters: int
    ours_seconds: float
    peer: str
    peer_seconds: float
    ratio: float
    goal: float
    difference: float
    ours_gflop: float
    peer_gflop: float
    ours_peak_gb: float
    peer_peak_gb: float
    fallback: str


def built(name: str) -> tuple[nn.Module, Tensor]:
    """In evaluation mode, with running statistics of a net that has seen data."""
    torch.manual_seed(0)
    build, shape = NETS[name]
    model = build().eval()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            assert module.running_var is not None
            module.running_var.uniform_(0.5, 1.5)
    inputs = torch.randn(EXAMPLES, *shape) if shape else torch.randint(0, 64, (EXAMPLES, 32))
    return model, inputs


def measured(
    name: str, rounds: int, room_bytes: int, exact: bool, clock: Callable[[], float]
) -> Row:
    model, inputs = built(name)

    def ours() -> object:
        return tangent_kernel(model, inputs)

    kernel = tangent_kernel(model, inputs)
    tool = "torch.func"
    peers: dict[str, Callable[[], Tensor]] = {
        "torch.func": lambda: of_torch_func(model, inputs, room_bytes),
        "autograd loops": lambda: of_loops(model, inputs),
    }
    try:
        peers[tool]()
    except RuntimeError:  # torch.func does not follow every recurrent layer
        tool = "autograd loops"
    peaks = peak_gb(ours), peak_gb(peers[tool])
    gflops = _gflops(ours), _gflops(peers[tool])
    began = time.perf_counter()
    peers[tool]()
    if time.perf_counter() - began < QUICK_SECONDS:
        rounds *= 10
    seconds = in_turns({"ours": ours, tool: peers[tool]}, rounds, clock)
    least = 1.0 if name in PLAIN and name != "gpt" else min(3.0, 0.6 * gflops[1] / gflops[0])
    return Row(
        net=name,
        parameters=sum(p.numel() for p in model.parameters()),
        ours_seconds=seconds["ours"],
        peer=tool,
        peer_seconds=seconds[tool],
        ratio=seconds[tool] / seconds["ours"],
        goal=max(1.0, least),
        difference=_difference(model, inputs, room_bytes) if exact else float("nan"),
        ours_gflop=gflops[0],
        peer_gflop=gflops[1],
        ours_peak_gb=peaks[0],
        peer_peak_gb=peaks[1],
        fallback=", ".join(kernel.fallback) or "-",
    )


def _difference(model: nn.Module, inputs: Tensor, room_bytes: int) -> float:
    """In float64, where no two orders of summation differ by more than rounding."""
    double = copy.deepcopy(model).double()
    given = inputs.double() if inputs.is_floating_point() else inputs
    try:
        truth = of_torch_func(double, given, room_bytes)
    except RuntimeError:
        truth = of_loops(double, given)
    found = tangent_kernel(double, given).gram
    return float((found - truth).abs().max() / truth.abs().max())


def _gflops(work: Callable[[], object]) -> float:
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops()) / 1e9


def peak_gb(work: Callable[[], object]) -> float:
    """What the process holds at most while it works, beyond what it held before."""
    try:
        gc.collect()
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)  # give back what is free, else it would not count again
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
        before = _status_gb("VmRSS")
        work()
        return _status_gb("VmHWM") - before
    except OSError:
        return float("nan")


def _status_gb(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found.group(1)) * 1024 / 1e9


def shown(row: Row) -> str:
    return (
        f"{row.net:<20}{row.parameters / 1e6:7.1f} M  {row.ours_seconds:8.3f} s  {row.peer} "
        f"{row.peer_seconds:8.3f} s  ratio {row.ratio:6.2f} (goal {row.goal:.1f})  "
        f"difference {row.difference:.1e}  {row.ours_gflop:.2f} GFLOP for {row.peer_gflop:.2f}  "
        f"peak {row.ours_peak_gb:.2f} GB for {row.peer_peak_gb:.2f}  fallback {row.fallback}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    usual = [name for name in NETS if not name.endswith("@224")]
    parser.add_argument("--net", nargs="+", choices=NETS, default=usual)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--room", type=int, default=ROOM_BYTES, help="bytes for the peer's Jacobian"
    )
    parser.add_argument("--no-float64", action="store_true", help="leave out the difference")
    parser.add_argument(
        "--cpu-seconds",
        action="store_true",
        help="of the process; sensible with one thread, on a machine others use",
    )
    parser.add_argument("--out", type=Path, help="a folder for nets.parquet; its other nets stay")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "There is a performance drop")
    where = f"{torch.get_num_threads()} threads"
    print(f"torch {torch.__version__}, {where}", flush=True)
    clock = time.process_time if options.cpu_seconds else time.perf_counter
    rows: list[Row] = []
    for name in options.net:
        exact = not options.no_float64
        rows.append(measured(name, options.rounds, options.room, exact, clock))
        print(shown(rows[-1]), flush=True)
        if options.out is not None:
            found = [asdict(row) for row in rows]
            write_timings(found, options.out / "nets.parquet", __doc__, where, by="net")


if __name__ == "__main__":
    main()
