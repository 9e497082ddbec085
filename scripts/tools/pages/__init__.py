"""The parts of the documentation: generated pages, and the site's work beside mkdocs."""
