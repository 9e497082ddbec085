"""The page in a real browser, and what it is made of."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.cli import main
from ntkexp.report.facts import ShownRuns, drawings, first_of, groups
from ntkexp.report.page import _footer, _run, opening, plotly_script
from ntkexp.report.panels import POINTS, panels, rounded, sampled
from ntkexp.report.sheets import figure, table, text
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.scripts.tools.bench.timings import write_timings
from tests.conftest import TINY_DISK
from tests.report import browser
from tests.tiny_runs import train

REFERENCE = Path(__file__).parents[2] / "outputs" / "reference"

pytest.importorskip("plotly", reason="no plotly: pip install 'ntkexp[report]'")

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="100"/>'


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two real runs of the disk, one of them with spectrum and alignment."""
    root = tmp_path_factory.mktemp("report")
    outputs = root / "outputs"
    probes = "probe=[eigenfunctions,spectrum,alignment]"
    for seed in (0, 1):
        words = [*TINY_DISK, probes, "probing.examples=10", f"seed={seed}"]
        assert main(["train", *words, f"paths.outputs={outputs}"]) == 0
    figures, bench = root / "figures", root / "bench"
    figures.mkdir()
    bench.mkdir()
    (figures / "fig01_disk_eigenfunctions.svg").write_text(SVG)
    columns = {f"column_{k}": [k / 3] for k in range(30)}
    pd.DataFrame({"case": ["a<b"], **columns}).to_parquet(bench / "speed.parquet")
    out = root / "index.html"
    assert main(["report", "--runs", str(outputs), "--figures", str(figures),
                 "--bench", str(bench), "--out", str(out)]) == 0  # fmt: skip
    return out


@pytest.fixture(scope="module")
def window(page: Path) -> Iterator[browser.Browser]:
    if reason := browser.missing():
        pytest.skip(reason)
    with browser.Browser() as opened:
        opened.open(page, width=1280)
        yield opened


def test_the_page_is_one_file_that_asks_for_nothing(page: Path) -> None:
    # The library's own text mentions addresses; what the page adds must fetch none.
    markup = re.sub(r"<script>.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", markup)
    assert "default-src 'none'" in markup


def test_the_page_shows_command_config_hardware_and_seeds_of_a_figure(page: Path) -> None:
    markup = page.read_text()
    assert "ntkexp train +exp=disk" in markup
    assert "model.width: 8" in markup
    assert "seeds 0, 1" in markup
    assert "<dt>hardware</dt>" in markup
    assert "a&lt;b" in markup


def test_benchmarks_come_from_what_the_repository_carries_unless_there_are_newer(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_timings(
        [{"case": "carried"}], Path("outputs/reference/bench/speed.parquet"), None, "1 thread"
    )
    write_timings(
        [{"case": "as carried"}], Path("outputs/reference/bench/size.parquet"), None, "1 thread"
    )
    write_timings([{"case": "newer"}], Path("outputs/bench/speed.parquet"), None, "1 thread")
    words = ["report", "--runs", str(page.parent / "outputs"), "--figures", str(tmp_path)]
    assert main(words) == 0
    written = Path("outputs/report/index.html").read_text()
    assert "<td>as carried</td>" in written
    assert "<td>newer</td>" in written
    assert "<td>carried</td>" not in written


def unpacked(page: Path, name: str) -> str:
    """A script element's content, as the page's script unpacks it."""
    (found,) = re.findall(rf'id="{name}"[^>]*>([^<]*)</script>', page.read_text())
    return gzip.decompress(base64.b64decode(found)).decode()


def test_the_page_carries_the_library_and_its_runs(page: Path) -> None:
    assert unpacked(page, "plotly") == plotly_script()
    (disk,) = json.loads(unpacked(page, "runs"))
    # It was made tiny by overrides, and says so.
    assert [run["label"] for run in disk["runs"]] == [
        "disk, seed 0 (altered)", "disk, seed 1 (altered)",
    ]  # fmt: skip
    assert all(run["panels"] for run in disk["runs"])


def test_figures_stand_before_the_claims(page: Path) -> None:
    text = page.read_text()
    assert text.index('<section id="figures">') < text.index('<section id="claims">')


def test_the_picker_opens_on_a_run_of_the_papers_size() -> None:
    def group(name: str, *typed: tuple[str, ...]) -> ShownRuns:
        records = [
            Record(name, f"run{k}", {"name": name}, {}, typed=words)
            for k, words in enumerate(typed)
        ]
        return ShownRuns(name, name, tuple(records))

    altered = group("first", ("model.width=3",))
    both = group("second", ("model.width=3",), ())
    assert opening([altered, both]) == "second/run1"
    assert opening([altered]) == "first/run0"
    assert opening([]) == ""


def test_it_is_the_same_page_every_time(page: Path, tmp_path: Path) -> None:
    root, again = page.parent, tmp_path / "again.html"
    main(["report", "--runs", str(root / "outputs"), "--figures", str(root / "figures"),
          "--bench", str(root / "bench"), "--out", str(again)])  # fmt: skip
    assert again.read_bytes() == page.read_bytes()


def test_it_loads_without_a_word_on_the_console(window: browser.Browser) -> None:
    assert window.complaints() == []
    plots = "return document.querySelectorAll('#panels .js-plotly-plot').length"
    assert window.execute_script(plots) > 5


def test_a_figure_is_drawn(window: browser.Browser) -> None:
    widths = "return [...document.querySelectorAll('.drawing img')].map((i) => i.naturalWidth)"
    assert window.execute_script(widths) == [2000]


def test_the_slider_moves_eigenfunctions_and_spectrum(window: browser.Browser) -> None:
    pixels = "return JSON.stringify(document.querySelector('.image .plot').data[0].z)"
    curve = "return JSON.stringify(plots.find((p) => p.panel.kind === 'spectrum').place.data[0].y)"
    before = window.execute_script(pixels), window.execute_script(curve)
    window.execute_script(
        "const slider = document.getElementById('step');"
        "slider.value = 0; slider.dispatchEvent(new Event('input'));"
    )
    window.wait_for("document.getElementById('step-told').textContent === '0'")
    after = window.execute_script(pixels), window.execute_script(curve)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_split_can_be_switched_off(window: browser.Browser) -> None:
    names = "return plots.find((p) => p.panel.title === 'Accuracy').place.data.map((t) => t.name)"
    assert window.execute_script(names) == ["train", "test"]
    window.execute_script("document.getElementById('show-test').click()")
    assert window.execute_script(names) == ["train"]
    window.execute_script("document.getElementById('show-test').click()")
    assert window.execute_script(names) == ["train", "test"]


def test_layers_can_be_switched_off(window: browser.Browser) -> None:
    count = "return plots.filter((plot) => plot.panel.layers).length"
    assert window.execute_script(count) == 2
    window.execute_script("document.getElementById('show-layers').click()")
    assert window.execute_script(count) == 0
    window.execute_script("document.getElementById('show-layers').click()")
    assert window.execute_script(count) == 2


def test_another_run_can_be_picked(window: browser.Browser) -> None:
    window.execute_script(
        "const picker = document.getElementById('run');"
        "picker.selectedIndex = 1; picker.dispatchEvent(new Event('change'));"
    )
    assert window.execute_script("return state.run.label") == "disk, seed 1 (altered)"
    window.wait_for("document.querySelector('#panels .js-plotly-plot')")


def test_zooming_one_panel_zooms_the_others(window: browser.Browser) -> None:
    window.wait_for("plots.filter((plot) => plot.linked).length > 2")
    window.execute_script(
        "const first = plots.find((plot) => plot.linked);"
        "Plotly.relayout(first.place, {'xaxis.range[0]': 0.5, 'xaxis.range[1]': 1});"
    )
    others = "plots.filter((plot) => plot.linked).map((plot) => plot.place.layout.xaxis.range)"
    window.wait_for(f"{others}.every((range) => range[0] === 0.5 && range[1] === 1)")


def test_verdicts_filter_the_ledger(window: browser.Browser) -> None:
    shown = "return [...document.querySelectorAll('.claims tbody tr')].filter((r) => !r.hidden)"
    everything = window.execute_script(f"{shown}.length")
    window.execute_script("document.querySelector('[data-verdict=no-runs]').click()")
    assert 0 < window.execute_script(f"{shown}.length") < everything
    assert window.execute_script(f"{shown}.every((row) => row.dataset.verdict === 'no-runs')")
    # What has no such claim is gone with its heading.
    empty = "return [...document.querySelectorAll('.ledger, .part')].some((p) => !p.hidden && "
    assert not window.execute_script(f"{empty}!p.querySelector('.claims tbody tr:not([hidden])'))")
    window.execute_script("document.querySelector('[data-verdict=no-runs]').click()")
    assert window.execute_script(f"{shown}.length") == everything


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_window_and_can_be_read(
    window: browser.Browser, page: Path, width: int, dark: bool
) -> None:
    window.open(page, width=width, dark=dark)
    window.execute_script("document.querySelector('#run option').text = 'a long name '.repeat(50)")
    assert window.execute_script("return innerWidth") == width
    assert window.execute_script("return document.documentElement.scrollWidth") <= width
    ink, paper = (
        window.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert contrast(ink, paper) > 7
    font = "return plots[0].place.querySelector('.plot')._fullLayout.font.color"
    assert contrast(window.execute_script(font), paper) > 7
    assert window.complaints() == []


def contrast(first: str, second: str) -> float:
    """The WCAG's contrast ratio of two colours."""
    high, low = sorted(map(_luminance, (first, second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    if colour.startswith("#"):
        channels = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    else:
        channels = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    shares = np.array(channels) / 255
    linear = np.where(shares <= 0.03928, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_numbers_of_the_page_are_short_and_finite() -> None:
    assert json.dumps(rounded([1 / 3, 2.0, float("inf")])) == "[0.3333, 2, null]"
    x, _ = sampled(np.arange(10000.0), np.arange(10000.0))
    assert len(x) <= POINTS
    assert (x[0], x[-1]) == (0, 9999)


def test_words_are_escaped_and_units_stay_with_their_numbers() -> None:
    assert text("< 10 ± 2 %") == "&lt; 10\u00a0±\u00a02\u00a0%"
    assert "<td>a&lt;b</td>" in table(pd.DataFrame({"case": ["a<b"]}))


def test_a_kept_run_of_every_experiment_has_its_panels() -> None:
    """Two papers may have tables of one name."""
    kept = {record.experiment: record for record in collect([REFERENCE])}
    shown = {name: panels(first_of(record)) for name, record in kept.items()}
    assert len(shown) > 100
    assert shown["vgg11_directions"] and not shown["linearised/directions_lenet"]


def test_runs_of_the_released_recipe_are_a_group_and_a_drawing_of_their_own(tmp_path: Path) -> None:
    table = {"evals": pd.DataFrame({"step": [1]})}
    records = [
        Record("vgg19_clean", recipe, {"name": "vgg19_clean", "recipe": recipe}, table)
        for recipe in ("paper", "released")
    ]
    found = [group for group in groups(records) if group.records]
    assert [group.name for group in found] == ["vgg19_clean", "vgg19_clean, recipe=released"]
    assert found[1].command == "ntkexp train +exp=vgg19_clean recipe=released"
    for stem in ("fig02_spectrum", "fig02_spectrum_released"):
        (tmp_path / f"{stem}.svg").write_text(SVG)
    paper, released = drawings(tmp_path, found, [])
    assert [group.recipe for group in paper.groups] == ["paper"]
    assert [group.recipe for group in released.groups] == ["released"]
    assert released.heading == f"{paper.heading} (recipe=released)"


def test_a_figure_has_the_facts_of_the_runs_that_it_was_drawn_from(tmp_path: Path) -> None:
    (tmp_path / "fig10_disk_data.svg").write_text(SVG)
    table = {"evals": pd.DataFrame({"step": [1]})}
    kept, own = (Record("disk", run, {"name": "disk"}, table) for run in ("kept", "own"))
    shown = groups([kept, own], {own})
    for source, run in (("outputs/disk/own", own), ("the reference results", kept)):
        record = {"fig10_disk_data": {"state": [], "from": f"from {source}"}}
        (tmp_path / "drawn.json").write_text(json.dumps(record))
        (drawn,) = drawings(tmp_path, shown, groups([kept]))
        assert drawn.groups[0].records == (run,)
        assert f"Drawn from {source}." in figure(drawn)


def test_runs_of_any_experiment_are_shown_and_those_left_out_are_named(tmp_path: Path) -> None:
    outputs = tmp_path / "outputs"
    words = ("data.grid=6", "data.train_examples=20", "probing.examples=10", "optim.steps=2")
    for width in (3, 4):
        train(outputs, "+exp=disk", "probe=[spectrum]", f"model.width={width}", *words)
        quick = ("data=disk", "name=quick", "probe=[spectrum]", f"model.width={width}")
        train(outputs, *quick, *words)
    shown = {group.experiment: group for group in groups(collect([outputs]))}
    assert len(shown["quick"].records) == 2 and shown["quick"].apart == ["model.width"]
    (left_out,) = shown["disk"].left_out
    told = _footer(list(shown.values()))
    assert f"disk: {left_out.run}" in told
    # One run is older than an option that the other has.
    older, newer = shown["quick"].records
    newer = replace(newer, config={**newer.config, "optim.young": 0})
    assert replace(shown["quick"], records=(older, newer)).apart == ["model.width"]
    labels = {
        _run(shown["quick"], record)["label"].partition(" (")[0]
        for record in shown["quick"].records
    }
    assert labels == {f"quick, model.width {width}, seed 0" for width in (3, 4)}
