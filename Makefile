# The same commands on every machine and in CI. CONTRIBUTING.md says when to use which.

.DEFAULT_GOAL := help
.PHONY: help run check update test e2e bench guards studio doctor gen-spec verify-spec test-opensandbox sandbox-images

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 26

run: ## Build everything, start the server, run the demo; Ctrl-C stops the server
	@scripts/run.sh

check: ## Formatting, lints, house rules, derived files; no test
	@scripts/check.sh

update: ## Write all derived files again: schema, Studio's types, snapshots
	@scripts/update.sh

test: ## Run every test; installs what the tests need
	@scripts/test.sh

e2e: ## Run only the tests that drive the whole program
	@scripts/e2e.sh

bench: ## Measure speed and size of the release build
	@scripts/bench.sh

guards: ## Take each guard out of a copy of the program and see its tests fail
	@scripts/guards.py

studio: ## Build the web app into frontend/dist when its sources changed
	@scripts/studio.sh

doctor: ## Check what Vitrine needs on this machine
	@cargo run --locked --quiet --bin vitrine -- doctor

gen-spec: ## Write sandbox/spec.inventory.json from the pinned specifications in DIR
	@scripts/spec.sh generate "$(or $(DIR),$(OPENSANDBOX_SPECS),$(error DIR=... names a directory with the three files))"

verify-spec: ## Say what the specifications of OpenSandbox in DIR change
	@scripts/spec.sh verify "$(or $(DIR),$(error DIR=... names a directory with the three files))"

test-opensandbox: ## Run the conformance suite against the real OpenSandbox server
	@scripts/test-opensandbox.sh

sandbox-images: ## Build the sandbox images here, without a registry
	@scripts/sandbox-images.sh
