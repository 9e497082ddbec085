"""The frame of every figure: finding runs, looks, saving."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps, cycler, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.style import use
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ntkexp.claims.curves import FIRST_ITERATION
from ntkexp.errors import UserError
from ntkexp.papers.scripts import folder_of, paper_of
from ntkexp.results.files import make_folder, replacing
from ntkexp.results.select import REFERENCE_RESULTS
from ntkexp.scripts import runs

# Inches: one column, and the text width, of the paper's two-column page.
COLUMN, PAGE = 3.25, 6.75
DPI = 200

# Okabe and Ito (2008): eight colours told apart with any colour vision.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)

# Inches that an entry of a legend above all panels takes.
LEGEND_COLUMN = 0.95
# The width of the notes below a figure.
CHARACTERS_PER_INCH = 19
FEW = 9
BAD_INPUT = 2

STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "image.cmap": "viridis",
    "figure.constrained_layout.use": True,
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    # Element ids of an SVG are random unless salted.
    "svg.hashsalt": "ntkexp",
}


@contextmanager
def look(style: Path | str | None = None) -> Iterator[None]:
    """Figures made within look as the papers' do, or as a style sheet of one's own says."""
    with rc_context(STYLE):
        try:
            use([] if style is None else style)
        except OSError as error:
            raise UserError(f"style {style}: no style sheet of matplotlib, and no file") from error
        yield


@dataclass(frozen=True)
class Options:
    """What a figure is made from: its experiments, with commas between, and where runs are."""

    experiment: str
    runs: runs.Places

    @property
    def experiments(self) -> list[str]:
        return self.experiment.split(",")


# From the command line to a figure, or to several by what their names end in.
Make = Callable[[Options], Figure | Mapping[str, Figure]]


def main(
    file: str, about: str | None, experiment: str, make: Make, name: str = ""
) -> Callable[[Sequence[str] | None], int]:
    """The whole script of a figure: it is saved under the name of its `file`.

    `about` is the file's docstring, which is the figure's caption; `experiment` is what is drawn.
    `name` is the file's `__name__`: where the file is the program, the figure is drawn at once.
    """
    script = Path(file)

    def run(argv: Sequence[str] | None = None) -> int:
        words = parsed(about, folder_of(paper_of(script)), argv)
        stem, given = words.out / script.stem, words.runs
        try:
            with look():
                files, source = drawn(make, experiment, stem, given, words.reference)
        except runs.NoRuns as lacking:
            print(*lacking.words, sep="\n", file=sys.stderr)
            raise
        print(*files, *([f"from {source}"] if source else []), sep="\n")
        return 0

    run.experiments = experiment.split(",")  # for the gallery
    run.make = make  # for runs of one's own
    if name == "__main__":
        raise SystemExit(run())
    return run


def drawn(
    make: Make, experiment: str, stem: Path, given: Sequence[Path], reference: bool = False
) -> tuple[list[Path], str]:
    """A figure of these experiments, from the first source that has what it needs: its files, and
    whose runs it shows."""

    def draw(places: runs.Places) -> list[Path]:
        made = make(Options(experiment, places))
        figures = made if isinstance(made, Mapping) else {"": made}
        if places.source not in ("", REFERENCE_RESULTS):
            typed = dict.fromkeys(word for record in places.drawn for word in record.typed)
            for figure in figures.values():
                _tell(figure, " ".join([f"from {places.source}", *["with"] * bool(typed), *typed]))
        return [
            path
            for suffix, figure in figures.items()
            for path in save(figure, stem.parent, stem.name + suffix)
        ]

    return runs.first(draw, experiment.split(","), given, reference)


def parsed(about: str | None, out: Path, argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line every figure has; `out` stands unless told."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs",
        nargs="+",
        type=Path,
        default=[],
        metavar="DIR",
        help="folders of runs (default: outputs, where all are there, else the reference results)",
    )
    parser.add_argument("--reference", action="store_true", help="from the reference results")
    parser.add_argument(
        "--out", type=Path, default=out, metavar="DIR", help="where to draw (default: %(default)s)"
    )
    return parser.parse_args(argv)


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **grid: Any
) -> tuple[Figure, Any]:
    """As pyplot's, without its backend and its list of open figures."""
    figure = Figure(figsize=figsize)
    return figure, figure.subplots(rows, columns, **grid)


def of_one_run(tables: Sequence[str], draw: Callable[..., Figure]) -> Make:
    """Makes a figure from these tables of one run: `draw` takes them in this order."""

    def make(options: Options) -> Figure:
        record = runs.one(options.experiment, options.runs, tables)
        return draw(*(record.tables[name] for name in tables))

    return make


def band(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From the 10th to the 90th centile of many seeds, from the least to the most of a few, whose
    centiles would be interpolated."""
    if len(values) <= FEW:
        return values.min(axis=0), values.max(axis=0)
    low, high = np.percentile(values, [10, 90], axis=0)
    return low, high


def band_label(seeds: int) -> str:
    return "mean, least and most" if seeds <= FEW else "mean and 10th to 90th centile"


def mean_and_band(
    axes: Axes,
    x: np.ndarray,
    values: np.ndarray,
    *,
    colour: str,
    label: str | None = None,
    linestyle: str = "-",
) -> None:
    """The mean over seeds of `values` (seeds, len(x)), in the band that `band` gives."""
    low, high = band(values)
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, values.mean(axis=0), color=colour, label=label, linestyle=linestyle)


def by_seed(frame: pd.DataFrame, value: str, *, x: str = "step", seed: str = "seed") -> np.ndarray:
    """A tidy table's column as (seeds, steps)."""
    return frame.pivot(index=seed, columns=x, values=value).to_numpy()


def iteration_axis(axes: Axes, last: float, *, first: float = FIRST_ITERATION) -> None:
    """A log axis of iterations that starts where the paper's does. One look is in its middle, and
    where that is iteration 0 the axis is no log."""
    axes.set_xlabel("iteration")
    if last in (0, first):
        reach = (first / 2, 2 * first) if last else (-1, 1)
        axes.set_xscale("log" if last else "linear")
        axes.set(xlim=reach, xticks=[last], xticklabels=[f"{last:,.0f}"])
        axes.xaxis.minorticks_off()
        return
    axes.set_xscale("log")
    right = max(last, 2 * first)
    axes.set_xlim(first, right)
    axes.xaxis.set_major_locator(LogLocator(10))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if np.ceil(np.log10(first)) >= np.floor(np.log10(right)):
        # One power of ten at most is no scale: numbers in between.
        axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 3, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def shades(count: int) -> list[tuple[float, float, float, float]]:
    """Colours for things in order, such as layers from input to output: dark to light viridis."""
    return [colormaps["viridis"](x) for x in np.linspace(0.0, 0.92, count)]


def legend_above(figure: Figure, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """One legend of all panels, in as many columns as the width has room for."""
    columns = min(len(labels), max(1, int(figure.get_figwidth() / LEGEND_COLUMN)))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)


def letter_panels(panels: Iterable[Axes]) -> None:
    """a, b, c ... above the upper left corner of each panel."""
    for letter, axes in zip("abcdefghijklmnopqrstuvwxyz", panels, strict=False):
        axes.set_title(letter, loc="left", fontweight="bold")


def note(figure: Figure, lines: Iterable[str]) -> None:
    """Write below the panels what a reader must know who has the image alone."""
    width = int(CHARACTERS_PER_INCH * figure.get_figwidth())
    text = "\n".join(textwrap.fill(line, width) for line in lines)
    figure.supxlabel(text, fontsize=7, x=0.01, ha="left")


def _tell(figure: Figure, source: str) -> None:
    """Write whose runs are drawn below the notes; above the panels where a legend is below."""
    if any(getattr(legend, "_outside_loc", None) == "lower" for legend in figure.legends):
        figure.suptitle(source, fontsize=7, x=0.01, ha="left")
    else:
        note(figure, [*figure.get_supxlabel().splitlines(), source])


def save(figure: Figure, out: Path, stem: str) -> list[Path]:
    """PDF, PNG and SVG, the same bytes every time: no dates, no versions, fixed ids.

    All three are drawn before the first takes the place of an earlier one.
    """
    paths = [out / f"{stem}.{kind}" for kind in ("pdf", "png", "svg")]
    try:
        make_folder(out)
        with ExitStack() as all_three:
            _draw(figure, *(all_three.enter_context(replacing(path)) for path in paths))
    except UserError as error:
        print(error, file=sys.stderr)
        raise SystemExit(BAD_INPUT) from error
    return paths


def _draw(figure: Figure, pdf: Path, png: Path, svg: Path) -> None:
    # Lay out once for the three of them, and go past savefig, which would draw everything once
    # more before it writes.
    figure.draw_without_rendering()
    if figure.get_tightbbox().x0 < 0:
        # Ticks move when panels are first laid out, and a label can leave the page.
        figure.draw_without_rendering()
    figure.set_layout_engine("none")
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    FigureCanvasPdf(figure).print_pdf(pdf, metadata=undated)
    figure.dpi = DPI  # for images within; the other left it at 72
    FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
