# The commands of polybox. `make serve` and `make test` need nothing but Debian 12 with git and make.
# They install what is missing (tools/setup says what and why), and running them again costs seconds.
.DEFAULT_GOAL := help
.PHONY: help serve test test-deep test-asan test-tsan test-cgroup2 fuzz check bench docs install clean
# For tools/run-tests, which prints how long everything before the suites took.
export SETUP_BEGAN := $(shell date +%s)

CMAKE := cmake
# A machine of yours may have more cores than memory for them; JOBS=1 make test is gentle.
JOBS ?= $(shell nproc)
RELEASE := build/release
BINARY := build/polybox

help:
	@echo 'make serve    install what is needed, build, and start polybox'
	@echo 'make test     install what the tests need, build, and run every test'
	@echo 'make test-deep   run what takes longer: weaker grades, reuse, a virtual machine, containers, a browser'
	@echo 'make test-asan, make test-tsan   run the unit tests under the sanitizers'
	@echo 'make test-cgroup2   run the tests of limits and attacks in a virtual machine with cgroup v2'
	@echo 'make fuzz     fuzz what reads requests (FUZZ_SECONDS=20 each)'
	@echo 'make check    format, layering, static analysis of the sources, and tests that wait a fixed time'
	@echo 'make bench    measure, and write docs/benchmarks.md'
	@echo 'make docs     rewrite the generated pages under docs/'
	@echo 'make install  install the binary (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make clean    remove build/'

# $(1): preset, $(2): targets. Configures when needed; ninja notices changes to the CMake files by itself.
define build
	@test -f build/$(1)/build.ninja || $(CMAKE) --preset $(1) --log-level=WARNING
	@$(CMAKE) --build --preset $(1) -j $(JOBS) --target $(2)
endef

# Turns the tests of the release build on, once.
define release_tests
	@grep -qs '^POLYBOX_TESTS:BOOL=ON' $(RELEASE)/CMakeCache.txt || \
	  $(CMAKE) --preset release --log-level=WARNING -DPOLYBOX_TESTS=ON
endef

define link_binary
	@ln -sfn release/cmd/polybox/polybox $(BINARY)
endef

$(BINARY):
	@tools/setup build
	$(call build,release,polybox)
	$(link_binary)
.PHONY: $(BINARY)

serve:
	@tools/setup build python-runtime
	$(call build,release,polybox)
	$(link_binary)
	@tools/start

# Where registries have private addresses, a jail reaches them only if a setting says so.
preinstall = $(1) preinstall || $(1) preinstall --unjailed

test:
	@tools/setup build test all-languages python-tools node-tools verify-tools
	$(release_tests)
	$(call build,release,all bench_jail)
	$(link_binary)
	@$(call preinstall,$(BINARY))
	@tools/run-tests --as 'make test' release e2e layering attacks soak

# What takes longer than CI has time for; DEEP='containers browser' runs only these. The last result of each suite is in
# docs/deep-tests.md. A need of tools/packages.tsv that has the name of a suite is installed for it.
DEEP ?= attacks-deep release-reuse-off attacks-reuse-off e2e-reuse-off reuse cgroup2 containers browser
test-deep:
	@tools/setup build test all-languages python-tools node-tools verify-tools $(sort $(filter $(DEEP),$(shell cut -f1 tools/packages.tsv)))
	$(release_tests)
	$(call build,release,all bench_jail)
	$(link_binary)
	@$(call preinstall,$(BINARY))
	@tools/run-tests --deep $(DEEP)

# The unit tests under the sanitizers; CI runs both. With asan the requests of the end-to-end tests as well.
test-asan:
	@tools/setup build test all-languages
	$(call build,asan,all)
	@$(call preinstall,build/asan/cmd/polybox/polybox)
	@tools/run-tests asan e2e-asan

test-tsan:
	@tools/setup build test
	$(call build,tsan,all)
	@tools/run-tests tsan

# What reads requests, fed with what nobody would send. CI runs it briefly.
fuzz:
	@tools/setup build fuzz
	$(call build,fuzz,fuzzers)
	@tools/run-tests fuzz

# The tests of limits and attacks on the unified cgroup hierarchy, in a virtual machine; not part of make test.
test-cgroup2:
	@tools/setup build test all-languages cgroup2
	$(release_tests)
	$(call build,release,all)
	$(link_binary)
	@tests/cgroup2/run $(RELEASE)

check:
	@tools/setup build test check
	@$(CMAKE) --preset dev --log-level=WARNING >/dev/null
	@tools/run-tests check

bench: $(BINARY)
	@tools/setup bench
	$(call build,release,bench_jail bench_verify bench_scrub)
	@tests/bench/command_line.py
	@$(RELEASE)/tests/bench/bench_jail
	@$(RELEASE)/tests/bench/bench_verify
	@tests/bench/run.py --write
	@tests/bench/load.py
	@tests/bench/agents.py
	@$(RELEASE)/tests/bench/bench_scrub

docs: $(BINARY)
	$(BINARY) docs settings > docs/settings.md
	$(BINARY) docs languages > docs/languages.md
	$(BINARY) docs tools > docs/tools.md
	$(BINARY) docs openapi | python3 -m json.tool --indent 1 > docs/openapi.json

PREFIX ?= /usr/local
install: $(BINARY)
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/polybox

clean:
	rm -rf build
