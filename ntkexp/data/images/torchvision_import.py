"""Import torchvision.datasets even where torchvision's compiled part does not fit torch.

PyPI's torchvision is built against PyPI's torch. Beside a CPU-only torch its compiled extension
does not load, so the operators it would have defined are missing, and `import torchvision` fails
on the first line of Python that decorates one: "operator torchvision::nms does not exist".
Nothing here calls such an operator: only the downloads of torchvision.datasets are wanted, which
are plain Python. Declaring the missing operators (names and types, no code) lets them import.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import torch

# The operators that torchvision 0.26 to 0.30 decorates without asking whether they are there.
MISSING_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
# A library's operators live as long as the object does.
_declared: list[torch.library.Library] = []


def torchvision_datasets() -> ModuleType:
    """The module torchvision.datasets; operators are declared only if the plain import fails."""
    try:
        return importlib.import_module("torchvision.datasets")
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declared:
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half imported
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for schema in MISSING_OPERATORS:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            library.define(schema)  # type: ignore[no-untyped-call]
    _declared.append(library)
    return importlib.import_module("torchvision.datasets")
