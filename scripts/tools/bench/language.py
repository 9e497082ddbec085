"""GPT-2 small: the kernel of losses by all parameters, against its blocks alone.

    pip install transformers
    OMP_NUM_THREADS=1 python scripts/tools/bench/language.py              2 minutes, 3 GB
    OMP_NUM_THREADS=1 python scripts/tools/bench/language.py --exact      the error, too: 7 GB

8 x 64 words, random weights from the configuration. The table of words gives the logits, too.
"First" is a call of `tangent_kernel` that finds everything out, "again" a second one, "object" a
second call of one `TangentFeatures`. Processor seconds; memory is what a call adds to the process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.data.images.torchvision import torchvision_datasets
from ntkexp.scripts.tools.bench.nets import peak_gb
from ntkexp.tangent import TangentFeatures

SENTENCES, LENGTH = 8, 64


def gpt2() -> nn.Module:
    torchvision_datasets()  # transformers asks for it, and fails where its compiled part is missing
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    net: nn.Module = GPT2LMHeadModel(GPT2Config(use_cache=False)).eval()
    return net


def losses_of(words: Tensor) -> Callable[[Any, Tensor], Tensor]:
    """The mean loss of the next word, of every sentence."""

    def losses(output: Any, indices: Tensor) -> Tensor:
        after, logits = words[indices][:, 1:], output.logits[:, :-1].mT
        return functional.cross_entropy(logits, after, reduction="none").mean(1)

    return losses


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds and gigabytes."""
    began = time.process_time()
    peak = peak_gb(work)
    return time.process_time() - began, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--exact", action="store_true", help="compare with float64")
    options = parser.parse_args()
    net, words = gpt2(), torch.randint(0, 50_257, (SENTENCES, LENGTH))
    ask = partial(TangentFeatures, net, outputs=losses_of(words))
    chosen: dict[str, dict[str, Any]] = {"blocks": {"parameters": ["transformer.h"]}, "all": {}}
    objects = {name: ask(**which) for name, which in chosen.items()}
    for when in ("first", "again", "object"):
        found = {}
        for name, which in chosen.items():
            features = objects[name] if when != "again" else ask(**which)
            found[name] = timed(partial(features.kernel, words))
        ratio = found["all"][0] / found["blocks"][0]
        shown = ", ".join(f"{name} {s:.1f} s {gb:.2f} GB" for name, (s, gb) in found.items())
        print(f"{when:<7}{shown}, ratio {ratio:.2f}", flush=True)
    if options.exact:
        kernel = objects["all"].kernel(words)
        exact = TangentFeatures(net.double(), outputs=losses_of(words)).kernel(words)
        errors = {name: _error(kernel.layers[name], gram) for name, gram in exact.layers.items()}
        worst = max(errors, key=errors.__getitem__)
        print(f"{errors[worst]:.1e} off in {worst}, {_error(kernel.gram, exact.gram):.1e} in all")


def _error(gram: Tensor, exact: Tensor) -> float:
    return float((gram - exact).abs().max() / exact.abs().max())


if __name__ == "__main__":
    main()
