"""Small folders as CelebA and Waterbirds are published, of images that are made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

# (label, attribute) -> images of each split: the attribute goes with the label, but not always.
COUNTS = {(0, 0): 6, (0, 1): 2, (1, 0): 1, (1, 1): 3}
SPLITS = (0, 1, 2)
BIRDS = "waterbird_complete95_forest2water2"


def rows(copies: int = 1) -> list[tuple[int, int, int]]:
    """(split, label, attribute) of every image, in no order of use."""
    found = [
        (split, *pair)
        for split in SPLITS
        for pair, count in COUNTS.items()
        for _ in range(copies * count)
    ]
    order = np.random.default_rng(0).permutation(len(found))
    return [found[place] for place in order]


def save(path: Path, number: int, size: tuple[int, int]) -> None:
    """Of one grey, by which it is known again; its margins, whole blocks of JPEG, are white."""
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    image = np.full((height, width, 3), 255, np.uint8)
    side = min(size)
    left, top = (width - side) // 2, (height - side) // 2
    image[top : top + side, left : left + side] = 5 * number % 256
    Image.fromarray(image).save(path, quality=100, subsampling=0)


def make_celeba(root: Path, inside: str = "img_align_celeba", copies: int = 1) -> Path:
    folder = root / "celeba"
    names = [f"A{place}" for place in range(9)] + ["Blond_Hair"] + ["Male"]
    lines, partition = [], []
    for number, (split, blond, woman) in enumerate(rows(copies)):
        values = ["1"] * 9 + ["1" if blond else "-1"] + ["-1" if woman else "1"]
        lines.append(f"{number + 1:06d}.jpg  {'  '.join(values)}")
        partition.append(f"{number + 1:06d}.jpg {split}")
        save(folder / inside / f"{number + 1:06d}.jpg", number, (16, 32))
    (folder / "list_attr_celeba.txt").write_text(
        "\n".join([str(len(lines)), " ".join(names), *lines]) + "\n"
    )
    (folder / "list_eval_partition.txt").write_text("\n".join(partition) + "\n")
    return folder


def make_waterbirds(root: Path, inside: str = BIRDS, copies: int = 1) -> Path:
    folder = root / inside
    lines = ["img_id,img_filename,y,split,place,place_filename"]
    for number, (split, water_bird, water) in enumerate(rows(copies)):
        name = f"00{number % 3}.Bird/Bird_{number:04d}.jpg"
        lines.append(f'{number},{name},{water_bird},{split},{water},"/o/ocean, {number}.jpg"')
        save(folder / name, number, (32, 16))
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return folder
