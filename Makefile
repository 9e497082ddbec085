# make demo   trains the disk experiment and draws Figure 1 (about a minute on two CPU cores)
# make test   every test but those that take minutes, which are in make slow
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
FIG    ?=
PAPER  ?=
OF_PAPER := $(if $(PAPER),--paper $(PAPER))
# Make knows no program by the name of a stamp.
MAKEFLAGS += --no-builtin-rules

.PHONY: help demo test slow lint docs pages figures report bench small newcomer clean

help:
	@echo "make demo              train on the disk and draw Figure 1, about a minute on two CPU cores"
	@echo "make test              run every test but those on demand"
	@echo "make slow              the tests on demand, packages, the site, and newcomer: about an hour"
	@echo "make lint              ruff and mypy"
	@echo "make figures           draw every figure that has its runs, name the commands of the others;"
	@echo "                       FIG=2 for one, PAPER=alignment for those of one paper"
	@echo "make report            draw what has changed and write outputs/report/index.html, a page to look at"
	@echo "make bench             time the tangent kernel against other tools"
	@echo "make small             every training experiment in miniature (PAPER=alignment: of one paper)"
	@echo "make newcomer          a wheel in a fresh environment, from its list to the notebook, two minutes"
	@echo "make docs              the documentation as a site, site/index.html, readable offline"
	@echo "make pages             write anew what is generated of the documentation"
	@echo "make clean             remove build and test leftovers; outputs/ stays"

# Compiling every file of torch and scipy, most of them never imported, takes as long as the rest of
# an install; it is worth it only where Python may not keep what it compiles on import.
PIP := -m pip install --quiet --disable-pip-version-check $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)

# One stamp an extra: a changed setup.cfg or constraints.txt installs anew.
$(VENV)/.installed-%: setup.cfg setup.py pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python $(PIP) -c constraints.txt -e ".$(EXTRA)"
	touch $@

$(VENV)/.installed-dev: EXTRA = [dev]
$(VENV)/.installed-bench: EXTRA = [peers]
$(VENV)/.installed-report: EXTRA = [report]
$(VENV)/.installed-docs: EXTRA = [docs]

demo: $(VENV)/.installed-base
	$(BIN)/ntkexp train +exp=disk
	$(BIN)/python scripts/alignment/fig10_disk_data.py
	@echo
	@echo "Figure 1:"
	@$(BIN)/python scripts/alignment/fig01_disk_eigenfunctions.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=25

slow: $(VENV)/.installed-dev docs
	$(BIN)/python -m pytest -m on_demand -o faulthandler_timeout=3600 --durations=0
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python -m twine check --strict dist/*
	scripts/newcomer.sh

lint: $(VENV)/.installed-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

# Its maintainers' notice that they work on a successor is no warning.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m scripts.tools.pages.site
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

pages: $(VENV)/.installed-dev
	$(BIN)/python -m scripts.tools.pages.gallery
	$(BIN)/python -m scripts.tools.pages.verdicts

figures: $(VENV)/.installed-base
	$(BIN)/ntkexp figures $(OF_PAPER) $(FIG)

report: $(VENV)/.installed-report
	$(BIN)/ntkexp figures --changed
	$(BIN)/ntkexp report

bench: $(VENV)/.installed-bench
	$(BIN)/python scripts/tools/bench/tangent.py

small: $(VENV)/.installed-base
	$(BIN)/python scripts/small.py $(OF_PAPER)

newcomer:
	scripts/newcomer.sh

clean:
	rm -rf build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
