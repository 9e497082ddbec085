"""Figure A.9: the function of one network along training, for several bounds on the parameters.

To the right the middle fifth of the inputs, upwards the iteration; the target is 1 at 0.5 and 0
elsewhere.
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.delta_panels import panels
from ntkexp.scripts.spectral.heatmap import THOUSANDS, edges

FIGURE = "A.9"


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, ["curve"])
    records.sort(key=lambda record: float(record.config["optim.clip"]))
    titled = [(f"clip {record.config['optim.clip']:g}", record) for record in records]
    return panels(titled, predictions, "output")


def predictions(axes: Axes, record: Record) -> AxesImage:
    curve = record.tables["curve"]
    table = curve.pivot(index="step", columns="point", values="output")
    z, steps = table.columns.to_numpy(float) / len(table.columns), table.index.to_numpy(float)
    image = axes.pcolormesh(
        edges(z), edges(steps), table.to_numpy(), vmin=-0.25, vmax=1, rasterized=True
    )
    axes.set(xlabel="$z$", ylabel="iteration", xlim=(0.4, 0.6), ylim=(0, steps[-1]))
    axes.yaxis.set_major_formatter(THOUSANDS)
    return image


main = drawing.main(__file__, __doc__, "spectral/delta_clip", make, __name__)
