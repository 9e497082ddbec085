"""Today's networks, as nets.py times them: name -> (build, shape of an input)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ntkexp.data.images.torchvision import torchvision_datasets

EXAMPLES, CLASSES = 8, 10


class GPT(nn.Module):
    """Two blocks, causal, with the embedding as the last layer's weight too."""

    def __init__(
        self, words: int = 64, width: int = 64, length: int = 32, outputs: int = CLASSES
    ) -> None:
        super().__init__()
        self.outputs = outputs
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
        return logits[:, : self.outputs]


class Recurrent(nn.Module):
    """An LSTM or a GRU with a linear layer on its last output."""

    def __init__(
        self,
        kind: type[nn.LSTM] | type[nn.GRU],
        width: int = 64,
        layers: int = 1,
        outputs: int = CLASSES,
    ) -> None:
        super().__init__()
        self.inner = kind(32, width, layers, batch_first=True)
        self.head = nn.Linear(width, outputs)

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
# For information: both sides take minutes.
AT_224 = ("resnet18", "mobilenet_v2", "efficientnet_b0")
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


def built(name: str) -> tuple[nn.Module, Tensor]:
    """In evaluation mode, with running statistics of a net that has seen data, and no weight that
    is nothing but zeros: below a last layer of zeros every gradient would be zero."""
    torch.manual_seed(0)
    build, shape = NETS[name]
    model = build().eval()
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.normal_(0, 0.1)
            assert module.running_var is not None
            module.running_var.uniform_(0.5, 1.5)
    for weight in model.parameters():
        if weight.dim() > 1 and not weight.any():
            nn.init.normal_(weight, std=0.02)
    inputs = torch.randn(EXAMPLES, *shape) if shape else torch.randint(0, 64, (EXAMPLES, 32))
    return model, inputs
