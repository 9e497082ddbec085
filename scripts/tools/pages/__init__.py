"""What the documentation is made of: generated pages, and what the site does beside mkdocs."""
