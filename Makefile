# SPDX-License-Identifier: MIT
#
# A front for CMake, which is the one build system; its presets are in CMakePresets.json.

DIR ?= examples/site
PORT ?= 8080
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
# Of make soak; under six of them nobody waits for a flood's memory to come back.
MINUTES ?= 10
# Of make bench-seeds.
SECONDS ?= 10
ROUNDS ?= 1
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTHON := build/venv/bin/python
PYTEST := $(PYTHON) -m pytest -q
# Most tests wait more than they work, so that more of them run than there are processors.
WAITING := $(shell echo $$(($(JOBS) + 4)))
PYTEST_MANY := $(PYTEST) -n $(WAITING)
PREFIX ?= /usr/local
# Of the static program, the wheels, the npm packages and the image: x86_64, aarch64.
PROCESSORS ?= x86_64 aarch64
# Which of the end-to-end tests make test also runs on the backend that is not preferred, of epoll and io_uring; test-all
# runs every one.
OTHER_TESTS := requests files faults clients
# Which of them, and of the scenarios, make test also runs over TLS; test-all runs every one, with each kind of records.
TLS_TESTS := requests answers content files clients threads
TLS_SCENARIOS := requests connections content errors
# Which of them are run over HTTP/2 too: by make test in the clear, by test-all over TLS as well, on both backends.
H2_SCENARIOS := requests answers threads
H2_TESTS := requests answers answers_streams filters compression content files uploads threads middleware
# And which of both test-all runs besides.
H2_TESTS_ALL := $(H2_TESTS) accept program limits logs clients faults deadlines stats
H2_SCENARIOS_ALL := $(H2_SCENARIOS) content streams files leaving connections errors deadlines outgoing

.DEFAULT_GOAL := help
.PHONY: help run build test test-variants test-attacks test-all tls-libraries tls-scan forms dist install uninstall tidy unit builds tsan tsan-build forms-build kqueue kqueue-build cross storms soak fuzz conformance hpack-stories h2-corpus bench bench-compare bench-micro bench-seeds map site format clean static wheels npm image deb release packages FORCE

help:
	@echo "make run [DIR=folder] [PORT=n]   install what is missing, build, and serve a folder"
	@echo "make test                        install what the tests need, and run them"
	@echo "make build                       build/release/skua, and the test servers hello and echo"
	@echo "make dist                        dist/skua.h, the library in one header"
	@echo "make install [PREFIX=folder]     the program, the libraries, the headers; DESTDIR is heeded"
	@echo "make uninstall [PREFIX=folder]   what was installed there last, away again"
	@echo "make static                      build/static: the program in one file for any Linux, for x86_64 and aarch64"
	@echo "make deb | wheels | npm | image  build/packages: packages of Debian, Python and npm, and a container image"
	@echo "make release                     build/release-VERSION: all of it, with checksums and a bill of materials"
	@echo "make test-all                    make test, then the unit tests again in every other build"
	@echo "make tidy                        the checks of tools/tidy.py"
	@echo "make tsan                        what crosses threads, under the thread sanitizer"
	@echo "make tls-libraries               TLS with OpenSSL 3.5, OpenSSL 4.0 and AWS-LC, built from their sources"
	@echo "make tls-scan                    testssl.sh and sslyze look at skua over TLS"
	@echo "make soak [MINUTES=10]           the stress tests, for that long"
	@echo "make fuzz [FUZZ_SECONDS=60]      every fuzz target for that long"
	@echo "make conformance SUITES=folder   suites of other projects, whole and an octet at a time"
	@echo "make bench                       measure beside the peers that are installed"
	@echo "make bench-seeds [SECONDS=10]    the commands of five other small servers' reports, here"
	@echo "make bench-compare BEFORE=REV    this tree beside an earlier revision, in paired ratios"
	@echo "make bench-micro                 parts by themselves, in nanoseconds and instructions"
	@echo "make site                        build/documents: the documents as a static site; skua build/documents shows it"
	@echo "make map                         the folders and their includes, docs/map.svg"
	@echo "make format                      clang-format over the tree"
	@echo "make clean                       remove build/"

run: build
	build/release/skua "$(DIR)" --listen 127.0.0.1:$(PORT)

build: build/.tools-build
	@$(MAKE) --no-print-directory build/release/.built

# A build is always asked for: ninja knows whether there is anything to do. Its rule is a file's, so that
# presets share it.
build/%/.built: build/%/build.ninja FORCE
	@cmake --build build/$* -j $(JOBS)

# Configured again when the presets change, so that what an older one left in the cache is not kept.
.PRECIOUS: build/%/build.ninja
build/%/build.ninja: CMakePresets.json
	@mkdir -p build
	@cmake --preset $* $(CONFIGURE) >build/$*.log || { cat build/$*.log; exit 1; }
	@touch $@

dist: build/.tools-dist
	@python3 tools/dist.py
	@echo "dist/skua.h: $$(wc -l <dist/skua.h) lines"

install: build/.tools-build
	@mkdir -p build/install
	@cmake -S . -B build/install -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKUA_FORM=single -DSKUA_SHARED=ON \
	    -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >build/install.log || { cat build/install.log; exit 1; }
	@cmake --build build/install -j $(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install build/install

uninstall:
	@DESTDIR="$(DESTDIR)" cmake -D MANIFEST=build/install/install_manifest.txt -D PREFIX="$(PREFIX)" -P cmake/uninstall.cmake

# Packages. Two makes of one revision are the same octets.
static: build/.tools-release
	@$(PYTHON) tools/release/static.py $(PROCESSORS)

wheels npm: build/.tools-release
	@$(PYTHON) tools/release/$@.py build/packages $(PROCESSORS)

image: build/.tools-release
	@mkdir -p build/packages
	@$(PYTHON) tools/release/oci.py build/packages/skua-image.tar $(PROCESSORS)

deb: build/.tools-release
	@$(PYTHON) tools/release/deb.py build/packages

release: build/.tools-release
	@$(PYTHON) tools/release/whole.py $(PROCESSORS)

# Every package is made, read by others' tools, installed and run.
packages: build/.tools-packages build/.tools-release build/release/.built
	@SKUA_BUILD=build/release PATH="$(CURDIR)/build/go:$$PATH" $(PYTEST) -o faulthandler_timeout=0 tests/packages

# Missing tools are installed once; tools/setup says what before it does.
build/.tools-%: tools/setup tests/requirements.txt
	@mkdir -p build
	@tools/setup $*
	@touch $@

tidy:
	@python3 tools/tidy.py

unit: build/.tools-test build/asan/.built
	@ctest --test-dir build/asan --output-on-failure -j $(WAITING) --no-tests=error

# Tests of what crosses threads, under the thread sanitizer.
TSAN_SCENARIOS := threads connections
TSAN_UNITS := io/disk $(addprefix thread/,mailbox thread_pool gate) log/log disk/watch net/tls_reload \
    $(addprefix exchange/,blocking ticket) $(addprefix server/,backend server change sites sites_replace locals stop post failure threads file)
TSAN_TESTS := workers threads conf conf_reload systemd
# Those that make test-all adds.
TSAN_MORE_TESTS := accept cold_disk program_tls unnoticed
tsan-build: build/.tools-test build/tsan/build.ninja
	@cmake --build build/tsan -j $(JOBS) --target skua echo handed rules storm threads workers $(subst /,_test_,$(TSAN_UNITS)) \
	    $(TSAN_SCENARIOS:%=scenarios_test_%)

tsan: tsan-build
	@ctest --test-dir build/tsan --output-on-failure -j $(WAITING) --no-tests=error \
	    -R '^($(subst $() $(),|,$(subst /,/test_,$(TSAN_UNITS))))$$|^scenarios/test_($(subst $() $(),|,$(TSAN_SCENARIOS)))/'
	@SKUA_BUILD=build/tsan $(PYTEST_MANY) $(TSAN_TESTS:%=tests/e2e/test_%.py)

# The library in the form that is installed: the server made from the single header, over a socket. A warning is an error
# where it is configured first. test-all has every unit test and scenario in this form too.
forms-build: build/.tools-build
	@$(MAKE) --no-print-directory build/release/.built CONFIGURE=-DSKUA_WERROR=ON
	@cmake --build build/release -j $(JOBS) --target rules storm

forms: build/.tools-test forms-build
	@SKUA_BUILD=build/release $(PYTEST_MANY) tests/e2e/test_requests.py tests/e2e/test_files.py

# The kqueue backend, over the shim of tests/kqueue: its own tests, and some of those of all backends. test-all has the rest.
KQUEUE_UNITS := kqueue_test_kqueue io_test_streams io_test_operations io_test_fairness io_test_failing_calls \
    disk_test_watch server_test_foreign server_test_stop server_test_change
KQUEUE_TESTS := requests faults clients
KQUEUE_SCENARIOS := test_answers test_streams test_content
kqueue-build: build/.tools-test build/kqueue/build.ninja
	@cmake --build build/kqueue -j $(JOBS) --target skua hello echo rules storm $(KQUEUE_UNITS) \
	    $(KQUEUE_SCENARIOS:%=scenarios_%)

kqueue: kqueue-build
	@ctest --test-dir build/kqueue --output-on-failure -j $(WAITING) --no-tests=error \
	    -R '/test_(kqueue|streams|operations|fairness|failing_calls|watch|foreign|stop|change)$$|^scenarios/($(subst $() $(),|,$(KQUEUE_SCENARIOS)))/kqueue$$'
	@SKUA_BUILD=build/kqueue SKUA_BACKEND=kqueue $(PYTEST_MANY) $(KQUEUE_TESTS:%=tests/e2e/test_%.py)

# Servers that the stress tests of tests/soak talk to, on every backend, with and without sanitizers.
SOAK_BUILDS := asan tsan kqueue release
storms: build/.tools-test $(SOAK_BUILDS:%=build/%/build.ninja)
	@for build in $(SOAK_BUILDS); do cmake --build build/$$build -j $(JOBS) --target storm || exit 1; done

# Most of the time is the five storms'; what is left is the rounds' in which threads race with a server that stops.
SOAK_UNITS := server/stop thread/gate
soak: storms
	@for build in asan tsan; do \
	    cmake --build build/$$build -j $(JOBS) --target $(subst /,_test_,$(SOAK_UNITS)) && \
	    SKUA_SOAK_ROUNDS=$$(($(MINUTES) * 60)) ctest --test-dir build/$$build --output-on-failure --no-tests=error --timeout 86400 \
	        -R '^($(subst $() $(),|,$(subst /,/test_,$(SOAK_UNITS))))$$' || exit 1; \
	done
	@SKUA_SOAK_SECONDS=$$(($(MINUTES) * 10)) $(PYTEST) -s -o faulthandler_timeout=0 tests/soak

# Other systems and processors, with zig's C compiler.
cross: build/.tools-test
	@$(PYTEST) -n $(JOBS) tests/cross

# Budgets that hold beside other tests. Those of instructions don't: who wakes when, and so how often, is up to the load.
COUNTED := system_calls memory

# The builds that make test needs besides build/asan. They give way to the tests that run beside them.
builds: build/.tools-test
	@for part in tsan-build forms-build kqueue-build build/fuzz/.built; do \
	    nice -n 19 $(MAKE) --no-print-directory $$part || exit 1; \
	done >build/builds.log 2>&1 || { tail -n 200 build/builds.log; exit 1; }

# The last line printed is pytest's count.
test: build/.tools-test
	@$(MAKE) --no-print-directory tidy
	@$(MAKE) --no-print-directory build/asan/.built
	@$(MAKE) --no-print-directory -j 2 unit builds
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-variants test-attacks
	@$(PYTEST) -n 2 --dist loadfile tests/budgets $(COUNTED:%=--ignore=tests/budgets/test_%.py)
	@$(PYTEST_MANY) --dist loadfile tests/cross tests/dist tests/tools tests/e2e -m "not test_all"

# The tests of make test again: other builds, backends and transports. It runs beside test-attacks, and no build of one is
# asked for in the other.
test-variants: build/.tools-test
	@$(MAKE) --no-print-directory tsan
	@$(MAKE) --no-print-directory kqueue
	@SKUA_BACKEND=other $(PYTEST_MANY) $(OTHER_TESTS:%=tests/e2e/test_%.py)
	@SKUA_TRANSPORT=tls ctest --test-dir build/asan --output-on-failure -j $(WAITING) --no-tests=error \
	    -R '^scenarios/test_($(subst $() $(),|,$(TLS_SCENARIOS)))/(uring|sim)$$'
	@SKUA_TRANSPORT=tls $(PYTEST_MANY) $(TLS_TESTS:%=tests/e2e/test_%.py)
	@SKUA_TRANSPORT=h2c ctest --test-dir build/asan --output-on-failure -j $(WAITING) --no-tests=error \
	    -R '^scenarios/test_($(subst $() $(),|,$(H2_SCENARIOS)))/(uring|sim)$$'
	@SKUA_TRANSPORT=h2c $(PYTEST_MANY) $(H2_TESTS:%=tests/e2e/test_%.py)

# The answers to what strangers send, and their costs. The servers of tests/soak come with the builds. The fuzz targets try the
# same each time, so that a change is to blame for what they find; make fuzz tries something else each time.
test-attacks: build/.tools-test
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=3 FUZZ_SEED=1
	@$(MAKE) --no-print-directory forms
	@if [ -n "$(SUITES)" ]; then $(MAKE) --no-print-directory conformance SUITES="$(SUITES)"; fi
	@$(PYTEST) -n 3 $(COUNTED:%=tests/budgets/test_%.py)
	@$(PYTEST) -n 2 tests/soak

# AWS-LC is partly C++.
TLS_LIBRARIES := openssl-3.5 openssl-4.0 aws-lc

tls-libraries: build/.tools-test
	@for name in $(TLS_LIBRARIES); do \
	    tools/tls_library $$name && \
	    cmake -S . -B build/with-$$name -G Ninja -DCMAKE_BUILD_TYPE=Release -DSKUA_TLS=ON -DSKUA_TESTS=ON \
	        -DSKUA_FORM=split -DOPENSSL_ROOT_DIR=$(CURDIR)/build/tls/$$name -DOPENSSL_USE_STATIC_LIBS=ON \
	        -DCMAKE_EXE_LINKER_FLAGS=-lstdc++ >/dev/null && \
	    cmake --build build/with-$$name -j $(JOBS) && \
	    ctest --test-dir build/with-$$name -R net/ --output-on-failure -j $(JOBS) --no-tests=error && \
	    SKUA_BUILD=build/with-$$name $(PYTEST) tests/e2e/test_tls.py tests/e2e/test_tls_go.py || exit 1; \
	done

# Their findings are about the program that is installed.
tls-scan: build/.tools-scan build/release/.built
	@build/venv/bin/python tests/conformance/scan.py

test-all: test packages build/.tools-test-all
	@$(PYTEST_MANY) --dist loadfile tests/cross tests/dist tests/tools tests/e2e -m test_all
	@SKUA_BUILD=build/tsan $(PYTEST_MANY) $(TSAN_MORE_TESTS:%=tests/e2e/test_%.py)
	@SKUA_SOAK_ROUNDS=5000 ctest --test-dir build/asan --output-on-failure -j $(JOBS) --no-tests=error --timeout 3600 \
	    -R '^sim/test_server$$'
	@SKUA_SOAK_ROUNDS=500 ctest --test-dir build/asan --output-on-failure -j $(JOBS) --no-tests=error --timeout 3600 \
	    -R '^sim/test_tls$$'
	@$(MAKE) --no-print-directory tls-libraries tls-scan
	@SKUA_BACKEND=other $(PYTEST_MANY) tests/e2e
	@$(MAKE) --no-print-directory build/single/.built build/kqueue/.built
	@for transport in tls tls-openssl tls-1.2; do \
	    SKUA_TRANSPORT=$$transport $(PYTEST_MANY) tests/e2e || exit 1; \
	    SKUA_TRANSPORT=$$transport SKUA_BACKEND=other $(PYTEST_MANY) tests/e2e || exit 1; \
	    SKUA_TRANSPORT=$$transport ctest --test-dir build/asan --output-on-failure -j $(JOBS) --no-tests=error \
	        -R '^scenarios/' || exit 1; \
	    SKUA_TRANSPORT=$$transport ctest --test-dir build/kqueue --output-on-failure -j $(JOBS) --no-tests=error \
	        -R '^scenarios/.*/kqueue$$' || exit 1; \
	done
	@for transport in h2 h2c; do \
	    SKUA_TRANSPORT=$$transport $(PYTEST_MANY) $(H2_TESTS_ALL:%=tests/e2e/test_%.py) || exit 1; \
	    SKUA_TRANSPORT=$$transport SKUA_BACKEND=other $(PYTEST_MANY) $(H2_TESTS_ALL:%=tests/e2e/test_%.py) || exit 1; \
	    SKUA_TRANSPORT=$$transport ctest --test-dir build/asan --output-on-failure -j $(JOBS) --no-tests=error \
	        -R '^scenarios/test_($(subst $() $(),|,$(H2_SCENARIOS_ALL)))/' || exit 1; \
	    SKUA_TRANSPORT=$$transport ctest --test-dir build/kqueue --output-on-failure -j $(JOBS) --no-tests=error \
	        -R '^scenarios/test_($(subst $() $(),|,$(H2_SCENARIOS_ALL)))/kqueue$$' || exit 1; \
	done
	@ctest --test-dir build/single --output-on-failure -j $(JOBS) --no-tests=error
	@ctest --test-dir build/kqueue --output-on-failure -j $(JOBS) --no-tests=error
	@SKUA_BUILD=build/kqueue SKUA_BACKEND=kqueue $(PYTEST_MANY) tests/e2e/test_files.py tests/e2e/test_deadlines.py
	@$(MAKE) --no-print-directory build/debug/.built build/tsan/.built
	@ctest --test-dir build/debug --output-on-failure -j $(JOBS) --no-tests=error
	@ctest --test-dir build/tsan --output-on-failure -j $(JOBS) --no-tests=error
	@for build in tsan single; do SKUA_BUILD=build/$$build $(PYTEST_MANY) tests/e2e || exit 1; done

fuzz: build/.tools-test build/fuzz/.built
	@python3 tools/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --jobs $(JOBS) build/fuzz

conformance: build
	@test -n "$(SUITES)" || { echo "make conformance needs SUITES=folder"; exit 2; }
	@python3 tests/conformance/run.py --server build/release/echo "$(SUITES)"
	@if [ -e "$(SUITES)/hpack-stories.jsonl.xz" ]; then $(MAKE) --no-print-directory hpack-stories; fi
	@if [ -e "$(SUITES)/fuzz-h2o-http2.jsonl" ]; then $(MAKE) --no-print-directory h2-corpus; fi

hpack-stories: build/.tools-test build/asan/build.ninja
	@cmake --build build/asan -j $(JOBS) --target hpack_pipe
	@$(PYTHON) tests/conformance/hpack_stories.py --pipe build/asan/hpack_pipe "$(SUITES)"

h2-corpus: build/asan/build.ninja
	@cmake --build build/asan -j $(JOBS) --target echo
	@python3 tests/conformance/h2_corpus.py --server build/asan/echo "$(SUITES)"

bench: build/.tools-bench
	@$(MAKE) --no-print-directory build
	@python3 bench/run.py

bench-compare: build/.tools-bench
	@$(MAKE) --no-print-directory build
	@python3 bench/compare.py $(BEFORE)

bench-micro: build/.tools-bench
	@$(MAKE) --no-print-directory build/release/.built
	@python3 bench/micro.py

bench-seeds: build/.tools-bench
	@$(MAKE) --no-print-directory build
	@python3 bench/seeds.py --seconds $(SECONDS) --rounds $(ROUNDS)

map:
	@python3 tools/map.py

site: build/.tools-test
	@$(PYTHON) tools/site.py build/documents

format: build/.tools-test
	@git ls-files '*.c' '*.h' | xargs build/venv/bin/clang-format -i

clean:
	rm -rf build dist

FORCE:
