# make demo   trains the disk experiment and draws Figure 1 (about two minutes on two CPU cores)
# make test   every test
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
