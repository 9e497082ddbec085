"""What `make docs` does beside what mkdocs does by itself (mkdocs.yml names this file).

A folder in `nav` becomes its pages: README first, then those that it links in its order, then the
rest. The notebook becomes a page. README's "Adding to it", the tables of thresholds and all options
are put in where a page says so. Anchors are those that GitHub makes, and links to files outside of
docs/ become their text, as the site has none of them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[3]
DOCS = TOP / "docs"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
FROM_README = re.compile(r"<!-- README: (?P<title>.+?) -->.*?<!-- end -->", re.DOTALL)
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
NOTEBOOK = "tour.ipynb"
THRESHOLDS, OPTIONS = "<!-- thresholds -->", "<!-- options -->"


def on_config(config: Any) -> Any:
    config.nav = expanded(config.nav)
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    text = notebook((DOCS / NOTEBOOK).read_text(encoding="utf-8"))
    files.append(File.generated(config, NOTEBOOK.replace(".ipynb", ".md"), content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    markdown = FROM_README.sub(lambda match: of_readme(match["title"]), markdown)
    if THRESHOLDS in markdown:
        from ntkexp.scripts.tools.pages.thresholds import tables

        markdown = markdown.replace(THRESHOLDS, tables())
    if OPTIONS in markdown:
        from ntkexp.scripts.tools.pages.options import page as options

        markdown = markdown.replace(OPTIONS, options())
    folder = (DOCS / page.file.src_uri).parent
    parts = FENCED.split(markdown)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda match: _link(match, folder), part)
        for part in parts
    )


def expanded(nav: list[Any]) -> list[Any]:
    """A menu in which every folder that is named has become its pages."""
    entries = []
    for item in nav:
        if isinstance(item, str) and item.endswith("/"):
            entries.append({title(DOCS / item / "README.md"): pages_of(item)})
        elif isinstance(item, dict):
            ((name, inside),) = item.items()
            if isinstance(inside, str) and inside.endswith("/"):
                entries.append({name: pages_of(inside)})
            else:
                entries.append({name: expanded(inside) if isinstance(inside, list) else inside})
        else:
            entries.append(item)
    return entries


def pages_of(folder: str) -> list[str]:
    """The pages of a folder: README, what it links in its order, the rest by name."""
    pages = {path.name for path in (DOCS / folder).glob("*.md")}
    first = "README.md" if "README.md" in pages else ""
    linked = []
    if first:
        text = (DOCS / folder / first).read_text(encoding="utf-8")
        linked = [target.partition("#")[0] for _, _, target in LINK.findall(text)]
    order = [name for name in dict.fromkeys([first, *linked, *sorted(pages)]) if name in pages]
    return [folder + name for name in order]


def title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def slug(text: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> slug("hydra/sweeper=search: Optuna chooses")
    'hydrasweepersearch-optuna-chooses'
    """
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


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


def of_readme(name: str) -> str:
    """A section of README without its heading; its links are those of README."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
    return LINK.sub(lambda match: _moved(match), section)


def _moved(match: re.Match[str]) -> str:
    target = match[3]
    if target.startswith("docs/"):
        return f"{match[1]}[{match[2]}]({target.removeprefix('docs/')})"
    return match[2]


def _link(match: re.Match[str], folder: Path) -> str:
    """A link as the site has it: the notebook's page for the notebook; of a file that the site has
    not, the text alone."""
    image, text, target = match.groups()
    if "://" in target or target.startswith(("#", "data:")):
        return match[0]
    path = (folder / target.partition("#")[0]).resolve()
    if not path.is_relative_to(DOCS):
        return text
    if path.name == NOTEBOOK and text != "As a notebook":
        return f"[{text}]({target.replace('.ipynb', '.md')})"
    return f"{image}[{text}]({target})"
