# The commands of the project. demo and test each do everything on a fresh Debian or Ubuntu machine and share one
# build, build/release, so that whoever ran the one has compiled most of the other.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
CTEST = ctest --no-tests=error --output-on-failure -j $(JOBS)

.PHONY: help demo test test-asan test-tsan test-canaries canaries soak fuzz bench format check install-deps

help:
	@echo 'make demo          build, then drive 64 sessions through every kind of compaction'
	@echo 'make test          build, then run every test'
	@echo 'make test-asan     the tests under the address and undefined behaviour sanitizers'
	@echo 'make test-tsan     the tests of everything that owns a thread, under the thread sanitizer'
	@echo 'make test-canaries prove that the crash test sees known faults of the journal'
	@echo 'make canaries      prove that the simulated world finds planted bugs'
	@echo 'make soak          play new seeds of the simulated world for SOAK_SECONDS (600)'
	@echo 'make fuzz          let libFuzzer try the parsers of what providers send, for FUZZ_SECONDS (60)'
	@echo 'make bench         build and run the benchmarks'
	@echo 'make format        format the sources in place'
	@echo 'make check         format, layers, lone headers, build and tests'
	@echo 'make install-deps  install everything that any of these needs'

demo:
	scripts/install-deps demo
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target rind
	build/release/bin/rind demo

test:
	scripts/install-deps test
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	$(CTEST) --test-dir build/release

test-asan test-tsan: test-%:
	scripts/install-deps $*
	cmake --preset $*
	cmake --build --preset $* -j $(JOBS)
	$(CTEST) --test-dir build/$*

test-canaries:
	scripts/install-deps test
	cmake --preset release
	scripts/check-canaries build/release

canaries:
	scripts/install-deps test
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target rind_canaries
	build/release/canaries/rind sim --canaries

soak:
	scripts/install-deps demo
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target rind
	scripts/soak build/release/bin/rind $(SOAK_SECONDS)

fuzz:
	scripts/install-deps fuzz
	cmake --preset fuzz
	scripts/fuzz build/fuzz $(FUZZ_SECONDS)

bench:
	scripts/install-deps bench
	cmake --preset release -DRIND_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target rind_bench
	build/release/bench/rind_bench --results=build/bench/results.json

format:
	scripts/install-deps format
	scripts/format

check:
	scripts/install-deps check
	scripts/check

install-deps:
	scripts/install-deps all
