"""Writes the gallery, docs/gallery: a page a paper, every figure, and the commands that draw it.

    python -m scripts.tools.pages.gallery

Captions are the figures' own, the docstrings of their scripts; experiments and what they cost are
what the scripts, configs/exp and the papers' costs.py say. The images are those of docs/figures.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ntkexp.claims import effort
from ntkexp.claims.horizon import iteration
from ntkexp.experiments import MAIN
from ntkexp.figures import chosen
from ntkexp.papers.registry import paper
from ntkexp.papers.scripts import Script, folder_of, scripts
from ntkexp.results.record import Record
from ntkexp.results.select import FAR_ENOUGH
from ntkexp.scripts.runs import chosen as runs_of

TOP = Path(__file__).parents[3]
DOCS = TOP / "docs"
GALLERY = DOCS / "gallery"
REFERENCE = TOP / "outputs" / "reference"
LINE_WIDTH = 100
INTRO = """\
`ntkexp figures {paper} --reference` draws all of this page into `{folder}`, from the results that
come with ntkexp. Below each image stand the command that draws it, from your own runs where you
have them, and those that make its runs, with their cost, each once. [What was found]({link}).

<!-- made by scripts/tools/pages/gallery.py -->
<!-- page not run: tests/report/test_size.py draws every figure; its runs take seconds to days -->
"""


def main() -> None:
    GALLERY.mkdir(exist_ok=True)
    for name, text in pages().items():
        (GALLERY / f"{name}.md").write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Name -> page, a paper each, and README; projects of one's own are theirs to document."""
    home = Path(__file__).parents[2].resolve()
    ours = [script for script in scripts() if script.path.resolve().is_relative_to(home)]
    papers = list(dict.fromkeys(script.paper for script in ours))
    each = {name: [script for script in ours if script.paper == name] for name in papers}
    return {"README": overview(each), **{name: page(name, each[name]) for name in papers}}


def overview(each: dict[str, list[Script]]) -> str:
    """The page that leads to the pages of all papers."""
    rows = [
        f"| *[{paper(name).title}]({name}.md)* | {sum(map(_numbered, figures))} | "
        f"{len(figures) - sum(map(_numbered, figures))} |"
        for name, figures in each.items()
    ]
    return "\n".join(
        [
            "# Figures",
            "",
            "Every figure with its image, its caption, and the commands that draw it and make its",
            "runs. `ntkexp figures` draws all that have runs.",
            "",
            "<!-- made by scripts/tools/pages/gallery.py -->",
            "",
            "| paper | numbered figures | others |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def page(name: str, figures: list[Script]) -> str:
    link = "../reproduction.md" if name == MAIN else f"../{name}/README.md"
    folder = folder_of(name, Path("outputs/figures")).as_posix()
    intro = INTRO.format(paper=name, link=link, folder=folder)
    blocks = [f"# Figures: {paper(name).short}", intro.rstrip()]
    sections: dict[str, str] = {}
    for script in figures:
        shares = [other for other in figures if _numbered(other) and other.figure == script.figure]
        blocks += section(script, sections, alone=len(shares) < 2)
    return "\n\n".join(blocks) + "\n"


def section(script: Script, sections: dict[str, str], alone: bool) -> Iterator[str]:
    """`alone`: no other script draws a part of the same figure. `sections`: command of a run -> the
    section that has it."""
    first, _, rest = script.caption.partition("\n")
    name = f"Figure {script.figure}" if _numbered(script) else _word(script).replace("_", " ")
    title = first.removeprefix(f"{name}:").strip()
    part = "" if alone else f" ({script.stem.partition('_')[2].replace('_', ' ')})"
    heading = f"{_begun(name)}{part}"
    yield f"## {heading}"
    yield _filled(f"**{_plain(_begun(title))}** {_plain(rest)}")
    images = _images(script)
    for recipe, files in images.items():
        label = name if recipe == "paper" else f"{name}, recipe=released"
        for image in files:
            yield f"![{label}](../{image.relative_to(DOCS).as_posix()})"
    if not images:
        yield "*Not drawn yet.*"
    draws = f"ntkexp figures {script.paper} {_word(script)}"
    runs = _runs(script, images or ["paper"], sections, heading)
    yield "\n".join(["```bash", draws, *runs, "```"])


def _images(script: Script) -> dict[str, list[Path]]:
    """Recipe -> the images that are kept of it: one, or one a network."""
    folder = folder_of(script.paper, DOCS / "figures")
    files = sorted({*folder.glob(f"{script.stem}.png"), *folder.glob(f"{script.stem}_*.png")})
    released = [file for file in files if file.stem.endswith("_released")]
    paper = [file for file in files if file not in released]
    return {recipe: of for recipe, of in (("paper", paper), ("released", released)) if of}


def _runs(
    script: Script, recipes: Iterable[str], sections: dict[str, str], heading: str
) -> Iterator[str]:
    """The commands that make what the figure shows, each below its cost; of those that an earlier
    section has, the experiments' names."""
    last_cost, before = "", dict[str, list[str]]()
    for recipe in recipes:
        for experiment in runpy.run_path(str(script.path))["main"].experiments:
            for line, cost in _commands(script, experiment, recipe):
                if (first := sections.setdefault(line, heading)) != heading:
                    ending = "" if recipe == "paper" else f" ({recipe})"
                    before.setdefault(first, []).append(experiment.rpartition("/")[2] + ending)
                    continue
                if cost != last_cost:
                    yield f"# {cost}"
                    last_cost = cost
                yield " \\\n    ".join(_lines(line, LINE_WIDTH - 6))
    for first, names in before.items():
        each = ", ".join(dict.fromkeys(names))
        yield "\n# ".join(_lines(f"# runs of {first}: {each}", LINE_WIDTH))


def _commands(script: Script, experiment: str, recipe: str) -> Iterator[tuple[str, str]]:
    """Commands with their costs: of the kept runs that the figure draws, otherwise the command that
    the ledger names."""
    names = runpy.run_path(str(script.path))
    with contextlib.redirect_stderr(io.StringIO()):  # that there are runs of other settings, too
        sides = [
            runs_of(experiment, [REFERENCE], names.get("TABLES", ()), recipe, counts)
            for counts in names.get("COUNTS", (lambda _: True,))
        ]
    drawn = [record for side in sides for record in side] if all(sides) else []
    last = max((record.iteration for record in drawn), default=FAR_ENOUGH)
    known, _, cost = effort.command(experiment, recipe, iteration(last)).partition("  (")
    by_words: dict[tuple[str, ...], list[Record]] = {}
    for record in drawn:
        # A run that was made with --with-parents is made by its child's command.
        named = next(word for word in record.life["argv"] if word.startswith("+exp="))
        words = record.typed if named == f"+exp={experiment}" else ()
        by_words.setdefault((effort.line(named.removeprefix("+exp=")), *words), []).append(record)
    for (line, *typed), records in by_words.items():
        released = ["recipe=released"] if recipe == "released" else []
        words = (line, *released, *_swept(records, always=len(by_words) > 1), *typed)
        yield " ".join(words), cost.removesuffix(")")
    if not by_words:
        yield known, cost.removesuffix(")")


def _swept(records: Sequence[Record], always: bool) -> list[str]:
    """The words for a scale that is not the paper's, and for the values that are swept over: at the
    paper's scale the experiment's own, which only `always` names."""
    scale = records[0].config.get("scale.name", "paper")
    values = {key: sorted({record.config[key] for record in records}) for key in records[0].axes}
    swept = [f"{key}={','.join(map(str, values[key]))}" for key in values]
    if scale != "paper":
        return [f"scale={scale}", *swept]
    return swept if always else []


def _numbered(script: Script) -> bool:
    number = script.figure or ""
    return number[:1].isupper() or number[:1].isdigit()


def _word(script: Script) -> str:
    """The word by which `ntkexp figures PAPER` draws this figure and no other."""
    words = [script.stem.removeprefix("fig_"), script.stem]
    if script.figure and _numbered(script):
        words.insert(0, script.figure)
    return next(word for word in words if chosen([word], script.paper) == [script])


def _begun(text: str) -> str:
    return text[0].upper() + text[1:]


def _filled(text: str) -> str:
    return "\n".join(_lines(" ".join(text.split()), LINE_WIDTH))


def _lines(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _plain(text: str) -> str:
    """A docstring's words, none of which is meant as Markdown."""
    for sign in ("\\", "*", "_", "`"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("<", "&lt;")


if __name__ == "__main__":
    main()
