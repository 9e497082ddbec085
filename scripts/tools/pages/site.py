"""Writes the pages of the site, build/docs, as plain Markdown; `make docs` builds them.

    python -m scripts.tools.pages.site        half a minute, for the verdicts

They are those of docs/ with what a page asks for in a comment: tables read from the code, verdicts
on the reference results, sections of README. The notebook becomes a page. Links to files outside
of docs/ become their text, as the site has none of them.
"""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from ntkexp.papers import registry
from ntkexp.scripts.tools.pages import ledger, options, tables

TOP = Path(__file__).parents[3]
DOCS = TOP / "docs"
BUILT = TOP / "build" / "docs"
# `<!-- options -->` in a page is where these come in.
MADE = {
    "options": options.page,
    "tables": tables.page,
    "thresholds": ledger.thresholds,
    "statements": ledger.statements,
    **{f"statements {work}": partial(ledger.statements, [work]) for work in registry.names()},
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FROM_README = re.compile(r"<!-- README: (?P<title>.+?) -->.*?<!-- end -->", re.DOTALL)
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NOTEBOOK = Path("tour.ipynb")


def main() -> None:
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(DOCS, BUILT)
    for page in DOCS.rglob("*.md"):
        text = filled(page.read_text(encoding="utf-8"))
        built = BUILT / page.relative_to(DOCS)
        built.write_text(with_links(text, page.parent), encoding="utf-8")
    tour = notebook((DOCS / NOTEBOOK).read_text(encoding="utf-8"))
    (BUILT / NOTEBOOK.with_suffix(".md")).write_text(with_links(tour, DOCS), encoding="utf-8")


def filled(page: str) -> str:
    """The page with what it asks for."""
    page = FROM_README.sub(lambda match: of_readme(match["title"]), page)
    for name, make in MADE.items():
        if (asked := f"<!-- {name} -->") in page:
            page = page.replace(asked, make())
    return page


def of_readme(name: str) -> str:
    """A section of README without its heading; its links are those of README."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
    return section.replace("](docs/", "](")


def with_links(page: str, folder: Path) -> str:
    """A page of this folder of docs/ with links as the site has them."""
    parts = FENCED.split(page)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda match: _link(match, folder), part)
        for part in parts
    )


def _link(match: re.Match[str], folder: Path) -> str:
    """The notebook's page for the notebook; of a file that the site has not, the text alone."""
    _, text, target = match.groups()
    if "://" in target or target.startswith(("#", "data:")):
        return match[0]
    path = (folder / target.partition("#")[0]).resolve()
    if not path.is_relative_to(DOCS):
        return text
    if path.name == NOTEBOOK.name and text != "As a notebook":
        return f"[{text}]({target.replace('.ipynb', '.md')})"
    return match[0]


def notebook(text: str) -> str:
    """A notebook's cells as a page, each with its output."""
    blocks = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        blocks.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        blocks += [output_of(output["data"]) for output in cell.get("outputs", [])]
    return "\n\n".join([*blocks, f"[As a notebook]({NOTEBOOK})"]) + "\n"


def output_of(data: dict[str, Any]) -> str:
    """The output of a cell: its figure, or else its text.

    >>> print(output_of({"text/plain": ["torch.Size([2])"]}))
    ```text
    torch.Size([2])
    ```
    """
    if png := data.get("image/png"):
        return f"![What the cell above draws](data:image/png;base64,{''.join(png).strip()})"
    return f"```text\n{''.join(data['text/plain'])}\n```"


if __name__ == "__main__":
    main()
