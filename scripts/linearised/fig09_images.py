"""The ten leading anisotropy directions of LeNet and of ResNet18, as images.

Above each other: the direction, and the magnitude of its Fourier transform with frequency zero in
the middle. Each image has a scale of its own. ResNet18 has its residual branches on from the start.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import records_of

FIGURE = "9"
TITLES = {"linearised/directions_lenet": "LeNet", "linearised/directions_resnet18": "ResNet18"}
EXPERIMENTS = tuple(TITLES)


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("direction_pixels",))
    nets = {record.experiment: record.tables["direction_pixels"] for record in records}
    columns = max(int(table["index"].max()) for table in nets.values())
    figure, grid = drawing.subplots(
        2 * len(nets), columns, figsize=(drawing.PAGE, 1.5 * len(nets)), squeeze=False
    )
    for row, (experiment, table) in enumerate(nets.items()):
        for index, pixels in table.groupby("index"):
            image = pixels.pivot(index="row", columns="column", values="value").to_numpy()
            waves = np.abs(np.fft.fftshift(np.fft.fft2(image)))
            above, below = grid[2 * row][index - 1], grid[2 * row + 1][index - 1]
            limit = np.abs(image).max()
            above.imshow(image, cmap="gray", vmin=-limit, vmax=limit)
            below.imshow(waves, cmap="magma")
            above.set_title(f"{index}")
        grid[2 * row][0].set_ylabel(TITLES[experiment])
        grid[2 * row + 1][0].set_ylabel("Fourier")
    for axes in grid.ravel():
        axes.set(xticks=[], yticks=[])
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
