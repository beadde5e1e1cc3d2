# What CI runs is here, so that it can be run by hand. `make help` lists the targets.
TOOLS := go tool -modfile=tools/go.mod
PACKAGES := ./...
# tests runs go test with flags $1 on packages $2. With RERUN=n, tests that fail run up to n times more, each alone, and are named
# at the end; a data race is never run again.
ifdef RERUN
tests = $(TOOLS) gotestsum --format pkgname --hide-summary=skipped --rerun-fails=$(RERUN) --rerun-fails-max-failures=10 --rerun-fails-abort-on-data-race --packages="$(strip $2)" -- $1
else
tests = go test $1 $2
endif
# As the product is built; with cgo, a dependency would compile C for a minute.
export CGO_ENABLED := 0

.PHONY: help lines vuln reproducible build check test race stress memory faults containers hadoop hadoop-jars mutants mutate soak fuzz bench lab renew image cluster cluster-down fmt deadcode types cross pictures clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## the static binary, bin/millrace
	go build -trimpath -ldflags='-s -w' -o bin/millrace ./cmd/millrace

check: ## format, vet, static analysis, tidy, layers, types on other systems
	@out=$$(gofmt -l . && $(TOOLS) gofumpt -l .); if [ -n "$$out" ]; then echo "gofmt or gofumpt would change:"; echo "$$out"; exit 1; fi
	go vet $(PACKAGES)
	$(TOOLS) staticcheck $(PACKAGES)
	go build -C tools -o ../bin/analyse ./analyse && go vet -vettool=bin/analyse $(PACKAGES)
	go test -C tools ./...
	@out=$$(go fix -diff $(PACKAGES)); if [ -n "$$out" ]; then echo "$$out"; exit 1; fi
	go mod tidy -diff
	$(MAKE) --no-print-directory deadcode types
	go test ./internal/lint

lines: ## lines of Go by room, comments and blank lines too: of the product, of test support, of tests
	@git ls-files '*.go' | awk '{ kind = /_test\.go$$/ ? "tests" : "product"; if (kind == "product" && /^(tools|integration|internal\/(testing|mutate|memnet|testcluster|require)|dfs\/dfstest|internal\/disk\/memdisk|internal\/rpc\/rpctest|scheduler\/schedulertest)\//) kind = "support"; \
	  room = /\// ? substr($$0, 1, index($$0, "/") - 1) : "(root)"; while ((getline line < $$0) > 0) { n[room, kind]++; sum[kind]++ }; close($$0); rooms[room] } \
	  END { form = "%-14s %9s %9s %9s\n"; printf form, "", "product", "support", "tests"; \
	  for (r in rooms) printf form, r, n[r, "product"] + 0, n[r, "support"] + 0, n[r, "tests"] + 0 | "LC_ALL=C sort"; close("LC_ALL=C sort"); \
	  printf form, "all", sum["product"], sum["support"], sum["tests"] }'

# With coverage: a fifth more processor time (scheduler/fair and sim: 12.7 s and 14.9 s). The tests of the command and of whole clusters start
# processes, which would not be counted.
PROCESSES = /millrace/(cli|integration)$$
test: ## all tests, with coverage: five to eight minutes on two cores, building included
	$(call tests,-cover,$(shell go list $(PACKAGES) | grep -vE '$(PROCESSES)'))
	$(call tests,,$(shell go list $(PACKAGES) | grep -E '$(PROCESSES)'))

# Policies, the topology, the monitor and placement start no goroutine: internal/lint proves it. The simulator, its laboratories,
# traces, generators and the machines of integration start none either, or only those of the engine, which local and task try.
PURE := scheduler|topology|netmon|dfs/placement
SINGLE := examples|docs/course|sim|trace|lab/[a-z]+|jobs$$|jobs/gensort|jobs/textgen|integration/machines|integration/mutants|internal/lint|internal/mutate|bench
APARTS = /millrace/($(PURE)|$(SINGLE))(/|$$)
# Tests of integration that look at programs from outside: once is enough. What race leaves out besides asserts times of a machine without it.
APART := Course|Assignments|Play|Pictures|Browser|Example$$|Loops|OnesOwn|OwnPolicy
RACED ?= .
RACEOF ?= 1
RACEPART ?= 0
race: ## tests of all packages that start goroutines (RACEOF=2 RACEPART=1: of every second) under the race detector; RACED='^Test[A-L]': of integration only those
	CGO_ENABLED=1 $(call tests,-race -timeout 30m,$(shell go list $(PACKAGES) | grep -vE '$(APARTS)|$(PROCESSES)' | awk 'NR % $(RACEOF) == $(RACEPART) % $(RACEOF)'))
	CGO_ENABLED=1 $(call tests,-race -timeout 30m -run '$(RACED)' -skip '$(APART)|LiveLaboratories|SmallJobsBesideALargeOne',./integration)
	CGO_ENABLED=1 $(call tests,-race -timeout 30m -skip 'OddNames|Scripts|Descriptors|Large|Many|Damaged|Giant|FullDisk|MiddleOfWork|ReadyAtOnce',./cli)

stress: ## long tests: many seeds, large data, hostile input
	MILLRACE_STRESS=1 go test -timeout 60m -count=1 $(PACKAGES)

mutants: ## plant every bug of integration/mutants, one by one; each must be noticed
	MILLRACE_STRESS=1 go test ./integration/mutants -timeout 40m -count=1 -v

N ?= 60
SEED ?= 1
mutate: ## N small random mistakes (SEED draws them, IN=dfs/names or ONLY='^sim$$' only there); prints those that no near test notices
	go run ./internal/mutate -n $(N) -seed $(SEED) -in '$(IN)' -only '$(ONLY)'

memory: ## peak memory of every job over every shape of input at 32, 64 and 256 MiB, against 1.15 times the budget; CI runs four shapes at 32
	MILLRACE_STRESS=1 go test ./cli -run TestPeakMemory -timeout 60m -count=1 -v

# Tests that make test leaves out, and the soak that MILLRACE_SOAK makes longer; the others of integration have run there.
FAULTS = $(shell awk '/^func /{name=$$2} /require\.Faults/{print name}' integration/*_test.go | sed 's/[^A-Za-z0-9_].*//' | sort -u | paste -sd'|')
faults: ## break clusters in every way that CI knows, a few minutes
	MILLRACE_FAULTS=1 $(call tests,-timeout 30m -count=1 -run '^($(FAULTS)|TestStoreSoak)$$',./integration)

containers: ## a cluster of containers, attacked and broken; needs docker
	MILLRACE_REQUIRE=$(MILLRACE_REQUIRE),docker $(call tests,-count=1 -run TestContainers,./integration)

HADOOP_JARS ?= $(HOME)/.cache/millrace/hadoop-3.4.2
hadoop-jars: ## Hadoop's jars for tests, 109 MB from Maven Central (needs mvn), into HADOOP_JARS
	mvn -q -B -f internal/hadooptest/pom.xml dependency:copy-dependencies -DoutputDirectory=$(HADOOP_JARS)

hadoop: hadoop-jars ## tests on a real HDFS; needs java and mvn
	MILLRACE_HADOOP_JARS=$(HADOOP_JARS) MILLRACE_REQUIRE=$(MILLRACE_REQUIRE),hadoop $(call tests,-count=1 -timeout 15m -run 'HDFS|TwoNameNodes',./storage/webhdfs ./internal/launch)

SOAK ?= 30m
soak: ## faults at random on six workers, for SOAK (default 30m): mixed jobs, then as long files
	MILLRACE_SOAK=$(SOAK) MILLRACE_FAULTS=1 go test ./integration -run 'TestJobSoak|TestStoreSoak' -parallel 1 -timeout 3h -count=1 -v

FUZZTIME ?= 10s
FUZZOF ?= 1
FUZZPART ?= 0
fuzz: ## every fuzz target for FUZZTIME (default 10s), or those of one package in FUZZOF, beginning with the FUZZPARTth
	@set -e; bin=$$(mktemp); trap 'rm -f $$bin' EXIT; cache=$$(go env GOCACHE)/fuzz; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | awk 'NR % $(FUZZOF) == $(FUZZPART) % $(FUZZOF)'); do \
	  go test -c -fuzz=. -o $$bin $$dir; \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | sed 's/func //'); do \
	    echo "fuzz $$dir $$target"; \
	    (cd $$dir && $$bin -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 1s -test.fuzzcachedir $$cache/$$dir); \
	  done; done

bench: build ## the speed table of this machine, then the named benchmarks
	bin/millrace bench
	go test -run '^$$' -bench . -benchtime 3x $(PACKAGES)

LAB ?= all
lab: ## the committed experiments again (LAB: only these), quickly; fails if a verdict differs
	go run ./cmd/millrace lab run $(LAB) --quick --expect docs/lab/results/results.json,docs/lab/results/quick.json,docs/lab/results/model.json >/dev/null

renew: ## run the experiments LAB again and put them into docs/lab: results, pages and charts; the others keep theirs, with their dates
	@test -n "$(LAB)" || { echo 'renew needs LAB="nas-40 nas-sweeps"'; exit 2; }
	@set -e; dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; mkdir $$dir/figures; \
	cp docs/lab/results/results.json $$dir/report.json; cp docs/lab/results/index.html $$dir/report.html; cp docs/lab/figures/*.svg $$dir/figures; \
	go run ./cmd/millrace lab run $(LAB) --keep --out $$dir --date "$$(date +%F)" >/dev/null; \
	cp $$dir/report.json docs/lab/results/results.json; sed 's|\. <a href="play/[^"]*">[^<]*</a>||' $$dir/report.html >docs/lab/results/index.html; \
	go test ./lab/all -run Pages -rewrite -figures $$dir/figures

vuln: ## known vulnerabilities in what the binary calls, by the database of vuln.go.dev, or a copy of it in the directory VULNDB
	@if [ -n "$(VULNDB)" ]; then echo "by a copy of the database, of $$(sed -nE 's/.*"modified": *"([^"]*)".*/\1/p' $(VULNDB)/index/db.json)" && $(TOOLS) govulncheck -db file://$(abspath $(VULNDB)) $(PACKAGES); \
	elif curl -fsS -m 10 -o /dev/null https://vuln.go.dev/index/db.json 2>/dev/null; then $(TOOLS) govulncheck $(PACKAGES); \
	else echo "https://vuln.go.dev is not reached from here, and VULNDB names no copy of it: nothing was looked up"; fi

reproducible: ## build twice, in two places with empty caches, and compare the binaries
	@set -e; dir=$$(mktemp -d); trap 'chmod -R u+w $$dir; rm -rf $$dir' EXIT; \
	for place in a b/deeper; do \
	  mkdir -p $$dir/$$place && git archive HEAD | tar -x -C $$dir/$$place; \
	  (cd $$dir/$$place && GOCACHE=$$dir/cache-$${place%%/*} $(MAKE) --no-print-directory build); \
	done; \
	cmp $$dir/a/bin/millrace $$dir/b/deeper/bin/millrace && sha256sum < $$dir/a/bin/millrace

# Each clone has a cluster of its own: its project, its image and its port follow from where it is.
CLONE := $(shell printf %s '$(CURDIR)' | cksum | cut -d ' ' -f 1)
export MILLRACE_IMAGE ?= millrace:$(CLONE)
export MILLRACE_PORT ?= $(shell expr 20000 + $(CLONE) % 10000)
export MILLRACE_SUPERUSER ?= $(shell id -un)
export COMPOSE_PROJECT_NAME ?= millrace-$(CLONE)

BASE ?= scratch
image: build ## the container image of this clone: the binary on BASE, which is scratch (nothing), shell (busybox), python (Debian with python3) or an image of a registry
	base=$$(deploy/base.sh $(BASE)) && docker build -q -t $(MILLRACE_IMAGE) --build-arg BASE=$$base -f deploy/Dockerfile .

cluster: image ## a cluster of five containers on this machine, their image on BASE (needs docker with compose)
	@test -f deploy/cluster.key || bin/millrace cluster keygen deploy/cluster.key
	@chmod 600 deploy/cluster.key && chown 65532:65532 deploy/cluster.key 2>/dev/null || test "$$(stat -c %u deploy/cluster.key)" = 65532 || { echo "the containers run as user 65532, who must own the key: sudo chown 65532:65532 deploy/cluster.key" >&2; exit 1; }
	cd deploy && ./compose.sh up -d
	@echo "export MILLRACE_MASTER=127.0.0.1:$(MILLRACE_PORT) MILLRACE_KEY=$(CURDIR)/deploy/cluster.key"
	@echo "export MILLRACE_IMAGE=$(MILLRACE_IMAGE) MILLRACE_PORT=$(MILLRACE_PORT) MILLRACE_SUPERUSER=$(MILLRACE_SUPERUSER) COMPOSE_PROJECT_NAME=$(COMPOSE_PROJECT_NAME)   # for deploy/compose.sh"

cluster-down: ## stop the containers; their volumes stay
	cd deploy && ./compose.sh --profile more down

fmt: ## format in place
	$(TOOLS) gofumpt -w .

# Packages that only tests use, and the interface for own programs, which no package here may call.
TESTPACKAGES := dfs/dfstest|integration|internal/hadooptest|storage/storagetest|internal/disk/memdisk|internal/memnet|internal/require|internal/rpc/rpctest|internal/testcluster|scheduler/schedulertest|mapreduce|local/run.go|local/config.go
deadcode: ## functions that only tests reach: the list may only become shorter
	@$(TOOLS) deadcode $(PACKAGES) | grep -vE '^($(TESTPACKAGES))[/:]' | sed -E 's/:[0-9]+:[0-9]+: unreachable func: / /' | LC_ALL=C sort | \
	  diff internal/lint/testdata/unreached.txt - || { echo "deadcode: '>' is a function that no command reaches: call it or remove it; '<' is one that is gone from there: take it off internal/lint/testdata/unreached.txt"; exit 1; }

# Other systems than this. integration starts processes as only Linux has them.
SYSTEMS ?= darwin/arm64 darwin/amd64 windows/amd64 windows/arm64
PORTABLE := $$(go list $(PACKAGES) | grep -v /integration)
types: ## type-check all code and tests for macOS and Windows, without compiling: seconds for each
	@set -e; dir=$$(mktemp -d); trap 'rm -rf $$dir' EXIT; go build -modfile=tools/go.mod -o $$dir/deadcode golang.org/x/tools/cmd/deadcode; \
	for s in $(SYSTEMS); do GOOS=$${s%/*} GOARCH=$${s#*/} $$dir/deadcode -test $(PORTABLE) >/dev/null || { echo "it does not build for $$s"; exit 1; }; done

# check has types in place of it, and CI builds for one of them every second day: go build for one system takes 3 s of processor when all is cached, and 4 minutes when nothing is.
cross: ## build and vet all code and tests for macOS and Windows (SYSTEMS=darwin/arm64: only there): minutes for each when nothing is cached
	@set -e; for s in $(SYSTEMS); do echo $$s; GOOS=$${s%/*} GOARCH=$${s#*/} go build -o /dev/null ./cmd/millrace; GOOS=$${s%/*} GOARCH=$${s#*/} go vet $(PORTABLE); done

pictures: ## the pictures of the README, by the browser tests
	mkdir -p docs/pictures
	MILLRACE_PICTURES=$(CURDIR)/docs/pictures go test ./integration -count=1 -run TestPictures

clean: ## remove what was built
	rm -rf bin
