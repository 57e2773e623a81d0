# Two commands do everything on a fresh machine: make demo, make test. They need Rust, Node with npm, make and a C
# compiler; the rest comes from package registries.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The npm wrappers of forge, anvil and cast exit 0 whatever happens: the native binaries come first in PATH.
PLATFORM := $(shell node -p "process.platform+'-'+{x64:'amd64',arm64:'arm64'}[process.arch]")
NATIVE := $(CURDIR)/node_modules/@foundry-rs
export PATH := $(NATIVE)/forge-$(PLATFORM)/bin:$(NATIVE)/anvil-$(PLATFORM)/bin:$(NATIVE)/cast-$(PLATFORM)/bin:$(PATH)

# Empty counts as unset, here as for forge.
ifeq ($(FOUNDRY_SOLC),)
unexport FOUNDRY_SOLC
endif

# Below these numbers a filter with a typo, or a suite that was not found, has left tests out: forge exits 0 then.
export FORGE_TESTS_AT_LEAST := 1190
export GAS_TESTS_AT_LEAST := 9
export CONSUMER_TESTS_AT_LEAST := 38
export CARGO_TESTS_AT_LEAST := 1040
export PROOFS_AT_LEAST := 52

# forge lint leaves artifacts without bytecode in its cache, which forge would take for built: it gets its own.
LINT := FOUNDRY_OUT=out/lint FOUNDRY_CACHE_PATH=cache/lint
FLOOR := SOLC_PACKAGE=solc-floor FOUNDRY_SOLC=$(CURDIR)/tools/solc FOUNDRY_OUT=out/floor FOUNDRY_CACHE_PATH=cache/floor
TOOLS := target/tools/bin

##@ Every day

.PHONY: help
help: ## What there is
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {gsub(/\$$\$$/, "$$", $$2); printf "  %-12s %s\n", $$1, $$2}' Makefile

.PHONY: setup
setup: node_modules/.installed ## Packages and the compiler; the second time does nothing
	@tools/setup

node_modules/.installed: package.json package-lock.json .npmrc
	npm ci
	@touch $@

.PHONY: demo
demo: setup ## The main job on an embedded anvil: an outage, and how the breaker rides it out
	@echo "building the keeper; the first time takes some minutes"
	cargo build --locked --bin keeper
	@target/debug/keeper simulate outage-and-recovery --out target/demo

.PHONY: test
test: setup ## All tests: forge, gas snapshot, bindings, the library as installed, cargo
	@tools/test

.PHONY: lint
lint: setup $(TOOLS)/bulloak ## Formatting, warnings and lints of both languages, with both compilers
	forge fmt --check
	$(LINT) forge lint contracts script
	forge build --force contracts
	$(FLOOR) forge build
	$(TOOLS)/bulloak check $$(git ls-files --cached --others --exclude-standard 'test/*.tree')
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings

.PHONY: bindings
bindings: setup ## Writes the Rust bindings anew after a change of a contract
	tools/bind --overwrite

.PHONY: gas
gas: setup ## Gas per path against snapshots/; UPDATE=1 writes them and the table in README
	@UPDATE=$(UPDATE) tools/gas

.PHONY: env
env: ## PATH with forge, cast, anvil and keeper: eval "$$(make -s env)"
	@echo 'export PATH="$(NATIVE)/forge-$(PLATFORM)/bin:$(NATIVE)/anvil-$(PLATFORM)/bin:$(NATIVE)/cast-$(PLATFORM)/bin:$(CURDIR)/target/debug:$$PATH"'

##@ Deeper

.PHONY: fuzz
fuzz: setup ## The same properties with many more runs
	FOUNDRY_PROFILE=ci forge test
	PROPTEST_CASES=40000 cargo test --locked --package fusebox-bindings
	PROPTEST_CASES=10000 cargo test --locked --release --package fusebox-breaker --test it

.PHONY: coverage
coverage: setup ## Fails unless the unit tests reach every line and branch of contracts/
	@tools/coverage

.PHONY: loom
loom: ## Every interleaving of two and three threads in the Rust breaker
	RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom cargo test --locked --release --package fusebox-breaker --test loom

.PHONY: shuttle
shuttle: ## Random interleavings of six to eight threads in the Rust breaker; a minute
	RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=target/shuttle cargo test --locked --release --package fusebox-breaker --test shuttle

.PHONY: mutate
mutate: setup .venv/.installed $(TOOLS)/cargo-mutants ## Breaks the core in every way the tools know, and sees a test notice; ONLY=CircuitBreaker
	@.venv/bin/python -u tools/mutate.py $(ONLY)
# 3: none was missed, and some had a test wait for ever, which is noticed as well.
	$(TOOLS)/cargo-mutants mutants --output target --package fusebox-breaker --file 'crates/breaker/src/core/**' -- --test it || [ $$? -eq 3 ]

.PHONY: evidence-gas
evidence-gas: setup ## How often other defences blame a healthy primary that was given too little gas
	FOUNDRY_NO_MATCH_PATH='test/{gas,selftest}/**' forge test --match-path 'test/evidence/**' -vv

.PHONY: selftest
selftest: setup ## Breaks copies of this repository and sees make test turn red
	tools/selftest

.PHONY: docs
docs: setup $(TOOLS)/mdbook ## The book, NatSpec and rustdoc, all below target/
	node tools/docs.js
	$(TOOLS)/mdbook build docs
# What a page links to outside of docs/ is not in the book: such a link leads into the checkout.
	find target/book -name '*.html' -exec sed -i.bak -E 's#href="((\.\./)+)README\.html#href="\1../README.md#g' {} +
	find target/book -name '*.bak' -delete
	forge doc --build
	cargo doc --locked --workspace --no-deps
	@echo "the book: target/book/index.html, NatSpec: target/natspec/book/index.html, rustdoc: target/doc"

.PHONY: conformance
conformance: ## The Rust breaker and four others in the same scenarios, and their times; writes docs/conformance.md
	cargo run --locked --release --quiet --package fusebox-bench --bin conformance docs/conformance.md

.PHONY: bench-rpc
bench-rpc: ## The RPC pool and alloy's layers in the same outages; fails beyond its bounds, writes docs/bench-rpc.md
	cargo run --locked --release --quiet --package fusebox-bench --bin bench-rpc docs/bench-rpc.md

.PHONY: soak-rpc
soak-rpc: ## Ten minutes of random faults before the pool leave nothing behind; SOAK_SECONDS=30 SOAK_RATE=200 SOAK_SEED=7
	cargo run --locked --release --quiet --package fusebox-bench --bin soak-rpc $(if $(SOAK_SECONDS),,docs/soak-rpc.md)

.PHONY: bench-keeper
bench-keeper: ## How fast the keeper reads, tells and idles, beside bare requests and alloy's stream; writes docs/bench-keeper.md
	cargo build --locked --release --quiet --bin keeper
	cargo run --locked --release --quiet --package fusebox-bench --bin bench-keeper docs/bench-keeper.md

.PHONY: bench-builder
bench-builder: ## What the builder's sidecar, replay and simulation take, with bounds; writes docs/bench-builder.md
	cargo run --locked --quiet --package fusebox-bench --bin bench-builder docs/bench-builder.md

.PHONY: e2e-lodestar
e2e-lodestar: ## The sidecar between a real beacon node, Lodestar from npm, and a block builder; three minutes, 280 MB
	@tools/e2e-lodestar

.PHONY: soak
soak: setup ## The keeper killed 200 times amid reorgs and a receiver that fails, then an hour of random faults; SOAK_SECONDS=60 SOAK_SEED=7
	KEEPER_KILLS=200 cargo test --locked --package fusebox-keeper --test it case_12 -- --nocapture
	cargo build --locked --release --quiet --bin keeper
	cargo run --locked --release --quiet --package fusebox-bench --bin soak-keeper $(if $(SOAK_SECONDS),,docs/soak-keeper.md)

.PHONY: bench
bench: gas ## Measured figures: gas, the Rust breaker beside its peers under every rule, and the builder breaker
	cargo bench --locked --package fusebox-bench
	@$(MAKE) bench-builder

.PHONY: prove
prove: setup .venv/.installed ## Proves test/symbolic with halmos: the state machine is its table, for every word
	@tools/prove

.PHONY: lint-deep
lint-deep: setup .venv/.installed $(TOOLS)/cargo-deny ## Static analysis; licences, sources and known holes of crates
	@tools/lint-deep

##@ Cleaning

.PHONY: clean
clean: ## Everything that was built, not what was installed
	rm -rf out cache broadcast target

$(TOOLS)/mdbook:
	cargo install --locked --quiet --root target/tools mdbook@0.5.4

$(TOOLS)/cargo-mutants:
	cargo install --locked --quiet --root target/tools cargo-mutants@27.1.0

$(TOOLS)/bulloak:
	cargo install --locked --quiet --root target/tools bulloak@0.9.2

$(TOOLS)/cargo-deny:
	cargo install --locked --quiet --root target/tools cargo-deny@0.20.2

# halmos and slither, 300 MB.
.venv/.installed: tools/requirements.txt
	@python3 -c 'import sys; sys.version_info >= (3, 11) or sys.exit("python3 must be 3.11 or newer, for halmos and slither")'
	python3 -m venv --clear .venv
	.venv/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@
