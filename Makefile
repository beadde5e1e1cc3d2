# What CI runs is here, so that it can be run by hand. `make help` lists the targets.
TOOLS := go tool -modfile=tools/go.mod
PACKAGES := ./...
# As the product is built; with cgo, a dependency would compile C for a minute.
export CGO_ENABLED := 0

.PHONY: help build check test race stress faults mutants soak fuzz bench lab image cluster cluster-down fmt deadcode clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

build: ## the static binary, bin/millrace
	go build -trimpath -ldflags='-s -w' -o bin/millrace ./cmd/millrace

check: ## format, vet, static analysis, tidy, layers
	@out=$$($(TOOLS) gofumpt -l .); if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	go vet $(PACKAGES)
	$(TOOLS) staticcheck $(PACKAGES)
	@out=$$(go fix -diff $(PACKAGES)); if [ -n "$$out" ]; then echo "$$out"; exit 1; fi
	go mod tidy -diff
	go test ./internal/lint

test: ## all tests, under two minutes
	go test $(PACKAGES)

# Policies, the topology, the monitor and placement start no goroutine: internal/lint proves it.
PURE := scheduler|topology|netmon|dfs/placement
race: ## all tests under the race detector, but for rooms that start no goroutine
	CGO_ENABLED=1 go test -race -timeout 30m $$(go list $(PACKAGES) | grep -vE '/millrace/($(PURE))(/|$$)')

stress: ## long tests: many seeds, large data, hostile input
	MILLRACE_STRESS=1 go test -timeout 60m -count=1 $(PACKAGES)

mutants: ## plant every bug of integration/mutants, one by one; each must be noticed
	MILLRACE_STRESS=1 go test ./integration/mutants -timeout 40m -count=1 -v

faults: ## break clusters in every way that CI knows, a few minutes
	MILLRACE_FAULTS=1 go test ./integration -timeout 30m -count=1

soak: ## five minutes of faults on a block store of six workers
	MILLRACE_STRESS=1 go test ./integration -run TestStoreSoak -timeout 20m -count=1 -v

FUZZTIME ?= 10s
fuzz: ## every fuzz target for FUZZTIME (default 10s)
	@set -e; for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | sed 's/func //'); do \
	    echo "fuzz $$dir $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$dir; \
	  done; done

bench: build ## the speed table of this machine, then the named benchmarks
	bin/millrace bench
	go test -run '^$$' -bench . -benchtime 3x $(PACKAGES)

LAB ?= all
lab: ## the committed experiments again (LAB: only these), quickly; fails if a verdict differs
	go run ./cmd/millrace lab run $(LAB) --quick --expect docs/lab/results/results.json,docs/lab/results/quick.json,docs/lab/results/model.json >/dev/null

image: build ## the container image millrace:latest, from nothing but the binary
	docker build -q -t millrace:latest -f deploy/Dockerfile .

cluster: image ## a cluster of five containers on this machine (needs docker and docker-compose)
	@test -f deploy/cluster.key || bin/millrace cluster keygen deploy/cluster.key
	@chown 65532:65532 deploy/cluster.key 2>/dev/null || chmod 644 deploy/cluster.key
	cd deploy && docker-compose -p millrace up -d
	@echo "export MILLRACE_MASTER=127.0.0.1:$${MILLRACE_PORT:-7070} MILLRACE_KEY=$(CURDIR)/deploy/cluster.key"

cluster-down: ## stop the containers; their volumes stay
	cd deploy && docker-compose -p millrace down

fmt: ## format in place
	$(TOOLS) gofumpt -w .

deadcode: ## functions that nothing calls
	$(TOOLS) deadcode -test $(PACKAGES)

clean: ## remove what was built
	rm -rf bin
