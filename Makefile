# Every command of the project. Each makes the environment it needs (.venv) by itself.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first of these that is new enough and can make an environment, which Debian's cannot without
# its package python3-venv; `make PYTHON=... book` decides otherwise.
PYTHON ?= $(shell for python in python3.11 python3 python; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

# Before an environment is made: what is wrong with the Python that should make it.
VENV_PACKAGE := on Debian and Ubuntu: apt-get install python3-venv
define SUITS
@test -n "$(PYTHON)" || { echo "siscm needs Python 3.11 or newer that can make environments, and \
	found none: install it ($(VENV_PACKAGE)), or name one with make PYTHON=/path/to/python3.11" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "siscm needs \
	Python 3.11 or newer, and $(PYTHON) is not: name one with make PYTHON=/path/to/python3.11" >&2; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make \
	environments, for it lacks venv or ensurepip: install them ($(VENV_PACKAGE)), or name another with \
	make PYTHON=/path/to/python3.11" >&2; exit 1; }
endef

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

# torch is large and not in the lock: an environment of its own, for extracting features.
FEATURES := .venv-features
FEATURES_INSTALLED := $(FEATURES)/.installed

# The same tests with other versions of what the project uses, each in an environment of its own.
NEWEST := .venv-newest
OLDEST := .venv-oldest

# mutmut is not in the lock either: nothing but `make mutation` needs it.
MUTATION := .venv-mutation
MUTATION_INSTALLED := $(MUTATION)/.installed

# What a caller has set for other work must not reach the notebooks or the tests.
unexport PYTHONPATH PYTHONSTARTUP PYTEST_ADDOPTS JUPYTER_PATH MATPLOTLIBRC MPLBACKEND
export IPYTHONDIR := $(CURDIR)/_build/ipython
export MPLCONFIGDIR := $(CURDIR)/_build/matplotlib

# Made before any notebook runs, or Matplotlib may say on a page that it looks for fonts.
FONTS := _build/matplotlib/.ready

# A caller's SISCM_DATA never decides what a target runs on: the target does.
SIMULATED := SISCM_DATA=simulated
REAL := SISCM_DATA=real

# Which images `make reproduce` extracts features of: table, or audit (all with disagreement).
IMAGES := table

# Before anything slow: the panels' files, and no half-done extraction.
define CHECK
@$(BIN)/python -m siscm.data.registry check
@$(REAL) $(BIN)/python -m siscm.cifar10h.extract --check
endef

.PHONY: help book book-real reproduce test test-quick test-deep coverage mutation test-real test-features test-browser pdf test-newest test-oldest same lint outputs record data bench sweep-exact lock clean

help:  ## list the commands
	@sed -n 's/^\([a-z-]*\):[^#]*## */\1	/p' $(MAKEFILE_LIST) | expand -t 15

# The book on simulated data, by the libraries of the environment that is given.
define BOOK
	$(SIMULATED) $(1)/bin/python book/build.py html
endef

book: $(INSTALLED) $(FONTS)  ## run every notebook on simulated data and build the book: _build/html
	$(call BOOK,$(VENV))

book-real: $(INSTALLED) $(FONTS)  ## the same on the real files: _build/html-real
	$(CHECK)
	$(REAL) $(BIN)/python book/build.py html

# torch comes only once every file is there, and only if features are missing. Named like this,
# make does not take the line for one to be run in a dry run too.
AGAIN := $(MAKE) --no-print-directory
reproduce: $(INSTALLED)  ## download the real files, extract features (torch), and build that book
	@$(BIN)/python -m siscm.data.registry
	@missing=$$($(BIN)/python -m siscm.cifar10h.extract $(IMAGES) --count); test "$$missing" = 0 \
		|| { $(AGAIN) $(FEATURES_INSTALLED) && $(FEATURES)/bin/python -m siscm.cifar10h.extract $(IMAGES); }
	@$(MAKE) --no-print-directory book-real

# One worker a core; tests of one file stay together, for what they share.
PARALLEL := --numprocesses auto --dist loadfile

# For many small fits: threads of their own make them slower, most of all beside other workers.
ONE_THREAD := OMP_NUM_THREADS=1

# All tests, in the environment that is given, with options of pytest for those of the package.
# Another Matplotlib keeps another list of fonts, so it is made here once more.
define TEST
	@$(1)/bin/python -c "import matplotlib.font_manager" 2>/dev/null
	$(SIMULATED) $(ONE_THREAD) $(1)/bin/python -m pytest $(PARALLEL)$(2)
	$(SIMULATED) $(1)/bin/python -m pytest $(PARALLEL) --nbval --nbval-current-env \
		--nbval-sanitize-with notebooks/sanitize.cfg notebooks/*.ipynb
endef

test: $(INSTALLED) $(FONTS)  ## all tests: package, doctests, repository, stored notebooks
	$(call TEST,$(VENV))

test-quick: $(INSTALLED)  ## tests without slow ones, without those of build and repository; stop at the first failure
	$(SIMULATED) $(ONE_THREAD) $(BIN)/python -m pytest $(PARALLEL) --exitfirst --quiet \
		-m 'not real_data and not slow' --ignore tests/test_book_build.py --ignore tests/test_repository.py

test-deep: $(INSTALLED)  ## the tests of properties and of broken files, with thousands of cases each (long)
	$(SIMULATED) $(ONE_THREAD) $(BIN)/python -m pytest $(PARALLEL) --quiet \
		--hypothesis-profile deep -m 'hypothesis and not real_data' tests

coverage: $(INSTALLED)  ## which branches of the package its tests reach; fails under 95 %
	$(BIN)/python -m coverage erase
	$(SIMULATED) $(ONE_THREAD) $(BIN)/python -m coverage run -m pytest $(PARALLEL) --quiet \
		--ignore tests/test_book_build.py --ignore tests/test_repository.py
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

# Which mutants: all, or a sample, such as MUTANTS='*[25]': those whose number ends in 2 or 5.
MUTANTS := *

# mutmut takes every process that ends for a mutant of its own, so joblib may start none.
NO_WORKERS := JOBLIB_MULTIPROCESSING=0
mutation: $(MUTATION_INSTALLED)  ## break the core modules in many small ways: do the tests notice? (long)
	$(SIMULATED) $(ONE_THREAD) $(NO_WORKERS) HYPOTHESIS_PROFILE=mutation \
		$(MUTATION)/bin/python -m mutmut run '$(MUTANTS)'
	$(MUTATION)/bin/python tests/mutation_score.py

# Two runs of the released code were made for this project: no address has them. Where they are
# missing, what reads them is left out, with a word.
NO_RUNS = $$(folder=$$($(BIN)/python -c 'from siscm.data import registry; print(registry.data_folder())'); \
	test -d "$$folder/reference" || { echo "no runs of the released code in $$folder/reference: \
	tests/test_reference.py is left out" >&2; echo --ignore tests/test_reference.py; })

test-real: $(INSTALLED)  ## the tests that read the real files (SISCM_DATA_DIR says where they are)
	$(CHECK)
	$(REAL) $(ONE_THREAD) $(BIN)/python -m pytest -m real_data tests $(NO_RUNS)

test-features: $(FEATURES_INSTALLED)  ## install torch (several GB) apart, in .venv-features, and test the extractor
	$(SIMULATED) $(FEATURES)/bin/python -m pytest tests/features

# Two browsers; the tests of one page stay together, for it is opened once for all of them.
test-browser: $(INSTALLED)  ## open every page of the built book in Chromium; pictures: _build/screenshots
	$(BIN)/python -m pytest --numprocesses 2 --dist loadgroup tests/browser

pdf: $(INSTALLED)  ## print the book on simulated data, as `make book` built it: _build/siscm.pdf
	$(SIMULATED) $(BIN)/python book/pdf.py

# Made anew each time, for what is newest changes from day to day. Nothing here is in the lock.
test-newest: $(FONTS)  ## the same tests, and the book, with the newest dependencies there are, in .venv-newest
	$(PYTHON) -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[book,test]'
	$(call TEST,$(NEWEST))
	$(call BOOK,$(NEWEST))

# Old libraries use what newer ones below them deprecate, and warn of it: no fault of anybody here.
test-oldest: $(FONTS)  ## the same with the oldest that pyproject.toml allows, in .venv-oldest
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip compile pyproject.toml --extra book --extra test --group build \
		--python $(OLDEST)/bin/python --resolution lowest-direct --quiet \
		--output-file $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(call TEST,$(OLDEST), -W ignore::DeprecationWarning)
	$(call BOOK,$(OLDEST))

# By another hash seed, number of threads and processor, for none of these may show on a page.
same: $(INSTALLED)  ## build the book twice, and stop if a file of the two differs
	PYTHONHASHSEED=1 OMP_NUM_THREADS=1 $(AGAIN) book
	rm -rf _build/html-first && mv _build/html _build/html-first
	env $$($(BIN)/python tests/older_processor.py) PYTHONHASHSEED=2 OMP_NUM_THREADS=2 $(AGAIN) book
	diff --recursive --brief _build/html-first _build/html

lint: $(INSTALLED)  ## style, types, workflows, citation file
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/zizmor --offline --no-progress .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Which notebooks: all, or those of such names, as CHAPTER='15*'.
CHAPTER := *
outputs: $(INSTALLED) $(FONTS)  ## run the notebooks and store what they print in notebooks/*.ipynb
	$(SIMULATED) $(BIN)/python book/build.py outputs --chapter '$(CHAPTER)'

record: $(INSTALLED)  ## recompute the figures of the real files: expected/
	$(CHECK)
	$(REAL) $(ONE_THREAD) $(BIN)/python -m siscm.compendium.record

data: $(INSTALLED)  ## download the real files, or check those already there
	$(BIN)/python -m siscm.data.registry

bench: $(INSTALLED)  ## rerun the benchmarks: benchmarks/results.json
	for script in benchmarks/[!_]*.py; do $(SIMULATED) $(BIN)/python "$$script"; done

sweep-exact: $(INSTALLED)  ## compare Algorithm 1 with the optimum on all 225 runs: expected/
	$(SIMULATED) $(BIN)/python -m siscm.synthetic.greedy_or_optimal

# uv has a place of its own, so that a lock which no longer installs can still be remade.
lock:  ## remake requirements.lock from pyproject.toml
	$(SUITS)
	$(PYTHON) -m venv _build/lock
	_build/lock/bin/python -m pip install --quiet uv
	_build/lock/bin/uv pip compile pyproject.toml --extra book --extra test --extra lint \
		--group build --universal --python-version 3.11 --generate-hashes --upgrade --quiet \
		--no-emit-index-url --custom-compile-command "make lock" --output-file requirements.lock

clean:  ## remove everything that make made, the environment included
	rm -rf $(VENV) $(FEATURES) $(NEWEST) $(OLDEST) $(MUTATION) mutants _build
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml
	$(SUITS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# An environment of its own: $(1) the folder, $(2) what to install; what the lock has is taken as it
# is there, but for lines that $(3) deletes.
define BESIDE
	$(SUITS)
	$(PYTHON) -m venv $(1)
	sed -nE '$(3)s/^([a-zA-Z].*) \\$$/\1/p' requirements.lock > $(1)/constraints.txt
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(1)/constraints.txt hatchling editables
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint $(1)/constraints.txt --no-build-isolation -e $(2)
	@touch $@
endef

# sympy, a need of torch's, wants an older mpmath.
$(FEATURES_INSTALLED): requirements.lock pyproject.toml
	$(call BESIDE,$(FEATURES),'.[features]' pytest hypothesis,/^mpmath==/d; )

# A comma would part the arguments.
MUTMUT := 'mutmut>=3.8,<4'

$(MUTATION_INSTALLED): requirements.lock pyproject.toml
	$(call BESIDE,$(MUTATION),'.[test]' $(MUTMUT))

$(FONTS): $(INSTALLED)
	@mkdir -p _build/ipython _build/matplotlib
	@$(BIN)/python -c "import matplotlib.font_manager" 2>/dev/null
	@touch $@
