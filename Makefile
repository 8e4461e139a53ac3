# Two commands for a newcomer: `make demo` and `make test`. Each makes its own environment in .venv.
# `make oldest` and `make pythons` run a quick part of the tests with the oldest packages allowed, and with newer Pythons.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# One more than there are cores: tests of services wait for them.
PROCESSES ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := .venv/bin
# Where tests find a browser, what drives it: 165 MB.
BROWSER := $(shell for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && echo ,browser && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test long style lint types imports protos site bench quality oldest pythons locks sbom audit clean

demo: .venv/run
	$(BIN)/gemel demo --out demo

# Tests start hundreds of processes: where Python is told to keep no compiled modules, each would compile all it imports.
test long: export PYTHONDONTWRITEBYTECODE =
# Tests run side by side on all cores already: threads of matrix products would wait for each other, at times tenfold.
test long: export OPENBLAS_NUM_THREADS = 1
# What a change must pass. Types and contracts are checked while tests wait for their services.
test: style
	@($(BIN)/mypy && $(BIN)/lint-imports) & checks=$$!; \
	    $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile -m "not long"; tests=$$?; \
	    wait $$checks && exit $$tests

# Everything: also the tests marked `long`, and more than three times the examples of every property.
long: export GEMEL_EXAMPLES = 100
long: lint types imports
	$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile tests research

style: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Style, and advice on words, which fails nothing.
lint: style
	$(BIN)/python -m tests.architecture.wording

types: .venv/dev
	$(BIN)/mypy

imports: .venv/dev
	$(BIN)/lint-imports

protos: .venv/dev
	$(BIN)/python -m gemel.protos.compile

# The documentation as a site in site/, for a browser or any web server; nothing is fetched but the packages.
site: .venv/run
	$(PIP) install --constraint constraints.txt --editable '.[site]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# The peers come along: anonlink beside Gemel, clkhash in an environment of its own, since it needs older packages.
bench: .venv/dev .venv-clkhash
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks encode
	$(BIN)/python -m benchmarks compare

# Splink and recordlinkage bring packages that Gemel does not have.
quality: .venv/dev .venv-peers
	$(BIN)/python -m benchmarks quality

# Every module imported, what decides the encoding, the store, the packaging, a demonstration; of it what may differ from
# one Python to another.
PORTABLE := tests/packaging tests/common/wire tests/common/specification
QUICK := $(PORTABLE) tests/custodian/encoding tests/common/keys tests/carole/store tests/records

oldest: .venv-oldest/made
	.venv-oldest/bin/python -m pytest -q -m "not long" $(QUICK)

.venv-oldest/made: pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear .venv-oldest
	.venv-oldest/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints-oldest.txt \
	    --editable '.[adbc,cluster,console,objects,pkcs11,postgres,records,report,test,vault]'
	touch $@

# A command of pyenv's may be there without its Python: each is tried.
pythons: .venv/dev
	@for version in 3.12 3.13; do \
	    found=; \
	    for python in "$$(command -v python$$version)" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
	        if "$$python" -c pass 2>/dev/null; then found=$$python; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then echo "Python $$version: skipped, not on this machine"; continue; fi; \
	    $(MAKE) --no-print-directory .venv-$$version/made FOUND="$$found" || exit 1; \
	    echo "Python $$version: $$found"; \
	    .venv-$$version/bin/python -m pytest -q -m "not long" $(PORTABLE) || exit 1; \
	done

.venv-3.%/made: pyproject.toml constraints.txt
	$(FOUND) -m venv --clear $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --constraint constraints.txt \
	    --editable '.[console,report,test]'
	touch $@

# The packages of each party's installation, with versions from constraints.txt and the hashes of their files.
LOCK := .venv-locks/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url --constraint constraints.txt deploy/requirements/build.txt

locks: .venv-locks
	$(LOCK) deploy/requirements/custodian.txt --output-file deploy/requirements/custodian.lock
	$(LOCK) deploy/requirements/carole.txt --output-file deploy/requirements/carole.lock
	$(LOCK) --extra console --extra records --extra report pyproject.toml \
	    --output-file deploy/requirements/coordinator.lock

# Helm's own engine and the schemas of Kubernetes and of compose files, for tests/deploy; it skips what needs them where
# this has not been made. Of check-jsonschema only a file is read.
.venv-deploy:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install helm-python-sdk==0.2.2 kubernetes-validate==1.37.0 \
	    && $@/bin/python -m pip --disable-pip-version-check --quiet install --no-deps check-jsonschema==0.39.0 \
	    || (rm -rf $@; false)

# A bill of materials of each lock, in CycloneDX's form.
SBOM ?= build/sbom
LOCKS ?= custodian carole coordinator

sbom: .venv-audit
	mkdir -p $(SBOM)
	for lock in $(LOCKS); do \
	    .venv-audit/bin/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml \
	        --output-file $(SBOM)/$$lock.json deploy/requirements/$$lock.lock || exit 1; \
	done

# Whether the index knows advisories against a locked package.
audit: .venv-audit
	for lock in $(LOCKS); do \
	    .venv-audit/bin/pip-audit --progress-spinner off --disable-pip --require-hashes \
	        --requirement deploy/requirements/$$lock.lock || exit 1; \
	done

.venv-audit:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install cyclonedx-bom==7.5.0 pip-audit==2.10.1 \
	    || (rm -rf $@; false)

.venv-locks:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install uv==0.13.9

.venv-peers:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install splink==5.0.0 recordlinkage==0.16

# For `python -m benchmarks shared`: a GB of packages, of which SPU has wheels for Python 3.11 and older ones alone.
.venv-spu:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install spu==0.9.5 || (rm -rf $@; false)

.venv-clkhash:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip --disable-pip-version-check --quiet install clkhash==0.18.3

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Gemel needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[report]'
	touch $@

.venv/dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) install --no-compile --constraint constraints.txt --editable '.[dev$(BROWSER)]'
	@# On all processors, which pip does on one; some packages bring files that are not for this Python. Not their tests,
	@# nor a thousand services of moto's of which ours import one.
	$(BIN)/python -m compileall -q -j 0 -x '/tests?/|/moto/' .venv/lib >/dev/null || true
	touch .venv/run $@

clean:
	rm -rf .venv .venv-* build *.egg-info demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
