# Piloto. `make` lists what there is.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

FUNCTIONS := $(sort $(notdir $(wildcard functions/*)))
ARCHS     := arm64 amd64
BUILT := $(ARCHS:%=build/%)

# Everything for this machine is compiled with one set of flags, and so once: the tests and `make install` use what
# `make run` has compiled. -trimpath leaves the folder out of it, so that another clone uses it too. The race detector needs
# cgo, and nothing else does. A person's own GOFLAGS stay.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath)
export CGO_ENABLED := $(if $(findstring -race,$(GOFLAGS) $(TESTFLAGS)),1,0)
# A program with the race detector waits a second before it exits, for other threads to be reported.
export GORACE := $(strip atexit_sleep_ms=50 $(GORACE))

# lambda.norpc drops the RPC mode of runtimes that are gone, nethttpomithttp2 what nobody
# speaks here (package outbound). Code that is inlined is larger: only what computes much is
# inlined, which is Go's runtime and its ciphers (docs/adr/0015). Lambda's arm64 is Graviton2
# or newer, which has the instructions of ARMv8.2: without them each atomic operation is there twice.
BUILD := CGO_ENABLED=0 GOOS=linux GOARM64=v8.2 go build -race=false -tags lambda.norpc,nethttpomithttp2 -trimpath -ldflags "-s -w" -gcflags "github.com/...=-l" -gcflags "golang.org/...=-l" -gcflags "mvdan.cc/...=-l" -gcflags "piloto/...=-l" -gcflags "net/...=-l" -gcflags "crypto/...=-l" -gcflags "crypto/internal/...=" -gcflags "vendor/...=-l" -gcflags "log/...=-l" -gcflags "mime/...=-l" -gcflags "text/...=-l" -gcflags "fmt=-l" -gcflags "os/...=-l" -gcflags "io/...=-l" -gcflags "context=-l" -gcflags "html=-l" -gcflags "regexp/syntax=-l" -gcflags "sort=-l" -gcflags "time=-l" -gcflags "regexp=-l" -gcflags "bufio=-l" -gcflags "compress/...=-l" -gcflags "path/...=-l" -gcflags "maps=-l" -gcflags "sync=-l" -gcflags "reflect=-l" -gcflags "slices=-l" -gcflags "strings=-l" -gcflags "bytes=-l" -gcflags "strconv=-l" -gcflags "encoding/...=-l" -gcflags "math/big=-l" -gcflags "unicode/...=-l" -gcflags "errors=-l"

# Tools live outside the tree, at the versions that are pinned here and in infra/tools. What a package of npm depends on is
# as it was on a day: a newer version changes nothing before that day is moved.
NPM := npm install --silent --no-audit --no-fund --before=2026-11-28
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/piloto
LINT  := $(CACHE)/tools/golangci-lint
AIMOCK := $(CACHE)/aimock@1.43.0
AXE := $(CACHE)/axe-core@4.14.1
STANDARD := $(CACHE)/standardwebhooks@1.1.1
EVERYTHING := $(CACHE)/everything@2026.8.31
CFNLINT := $(CACHE)/cfn-lint@1.51.0/bin/cfn-lint
DYNALITE := $(CACHE)/dynalite@4.0.0
ASL   := $(CACHE)/asl-validator@4.0.0/node_modules/.bin/asl-validator

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  \033[1m%-11s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What does what AWS does on this machine is a module of its own, in the same workspace.
PACKAGES := ./... ./infra/localaws/...

.PHONY: run
run: ## Start everything in one process, on http://localhost:8080 (ADDR=127.0.0.1:8081: elsewhere; UPFLAGS="--data DIR": other flags)
	@case "$${PILOTO_LANG:-$${LC_ALL:-$${LC_MESSAGES:-$$LANG}}}" in \
		en*) echo "Compiling: one to three minutes the first time, a moment afterwards." ;; \
		*) echo "Compilando: de 1 a 3 minutos la primera vez, un momento después." ;; esac
	@go build -v -o bin/piloto ./cmd/piloto 2>&1 | { $(COMPILED); }
	@exec bin/piloto up --template template.yaml $(if $(ADDR),--addr $(ADDR)) $(UPFLAGS)

# Of the packages that `go build -v` names, each twentieth is printed; all else that it says is, too.
COMPILED := n=0; while IFS= read -r line; do \
	case "$$line" in *[\ \#:]*) echo "$$line" ;; *) ((++n % 20)) || echo "  $$n: $$line" ;; esac; done

.PHONY: install
install: ## Install the command piloto, into $(go env GOPATH)/bin
	go install -ldflags "-s -w" ./cmd/piloto

.PHONY: binaries
binaries: ## Build the command for Linux, macOS and Windows, into build/piloto
	@for to in linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64; do \
		end=; [ $${to%/*} = windows ] && end=.exe; \
		CGO_ENABLED=0 GOOS=$${to%/*} GOARCH=$${to#*/} go build -ldflags "-s -w" -o build/piloto/piloto-$${to%/*}-$${to#*/}$$end ./cmd/piloto || exit 1; \
	done; ls -l build/piloto

.PHONY: versions
versions: ## Print the versions of what the gates use of this machine
	@go version
	@for tool in "gcc --version" "node --version" "npm --version" "chromium --version" "tmux -V" "git --version" "python3 --version"; do \
		printf '%s: %s\n' "$${tool%% *}" "$$($$tool 2>/dev/null | head -1 || echo none)"; done

# With -short, tests that start processes and browsers do nothing unless they are asked for.
# Go takes a result that it knows while nothing has changed that it sees. It does not see a browser's version.
MACHINE = PILOTO_MACHINE="$$(chromium --version 2>/dev/null || google-chrome --version 2>/dev/null; tmux -V 2>/dev/null)"
SUITE := $(MACHINE) PILOTO_TESTS=change go run ./infra/suite

.PHONY: test
test: ## Run the tests that a change must pass, each once (TESTFLAGS are for go test)
	@echo "First, what runs the tests is compiled."
	@$(SUITE) -- -timeout=30m -short $(TESTFLAGS) $(PACKAGES)

.PHONY: race
race: ## The same with the race detector, as .ci/run does (needs a C compiler)
	$(MAKE) test TESTFLAGS=-race

.PHONY: flakes
flakes: ## The same ten times, beside two busy loops
	@$(SUITE) -times 10 -busy 2 -- -timeout=60m -short -count=1 $(TESTFLAGS) $(PACKAGES)

# Everything that a change need not wait for. One part that fails does not keep the next from running.
NIGHTLY := every every-race axe e2e-process conflicts conformance provider sizes foreign vuln

.PHONY: nightly
nightly: versions ## Every round of every test, conflicts, conformance, browsers, foreign systems, sizes (needs npm, chromium, a C compiler)
	@failed=; for part in $(NIGHTLY); do \
		printf '\n== %s\n' $$part; began=$$SECONDS; \
		$(MAKE) --no-print-directory $$part || failed+=" $$part"; \
		printf '== %s: %s s\n' $$part $$((SECONDS - began)); \
	done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }; echo "all parts passed: $(NIGHTLY)"

.PHONY: every
every: ## Run every round of every test (TESTFLAGS are for go test)
	@PILOTO_TESTS=every go run ./infra/suite -- -timeout=60m -count=1 $(TESTFLAGS) $(PACKAGES)

# The race detector makes each round five to ten times slower: the rooms have it with few rounds, in `make race`.
.PHONY: every-race
every-race: ## Run every round of what serves and of the engines, with the race detector (needs a C compiler)
	$(MAKE) every TESTFLAGS=-race PACKAGES="./cmd/... ./functions/... ./infra/... ./statemachines/... ./infra/localaws/..."

.PHONY: foreign
foreign: binaries ## Build the command for each system, and vet the tests for those that are not this one
	GOOS=darwin go vet $(PACKAGES)
	GOOS=windows go vet $(PACKAGES)

.PHONY: e2e
e2e: ## Run only the tests that drive the real process
	PILOTO_TESTS=every go test -count=1 ./infra/e2e

.PHONY: e2e-process
e2e-process: ## The same, with every function as the executable that deploys
	PILOTO_TESTS=every go test -count=1 -timeout 60m ./infra/e2e -lambda=process

.PHONY: browsers
browsers: ## Run every test of the page in a browser (needs chromium)
	PILOTO_TESTS=every go test -count=1 -timeout 60m ./internal/edge/webui

.PHONY: conformance
conformance: $(DYNALITE)/node_modules/dynalite/package.json $(ASL) ## Hold both engines to what AWS does, beside dynalite (npm) and moto, where it is installed
	go run ./infra/localaws/conformance -dynalite $(DYNALITE) -asl $(CACHE)/asl-validator@4.0.0 $(CONFORMANCEFLAGS)

.PHONY: conflicts
conflicts: ## Test the stores, the wallet and the runs with transactions that conflict, as they do in DynamoDB
	go test -count=1 -short ./internal/store -args -conflicts 1ms
	go test -count=1 -short ./internal/models/credit -args -conflicts 1ms
	go test -count=1 ./internal/runs/receipt -run Seal -args -conflicts 1ms
	go test -count=1 -short ./internal/runs/step -run 'Drive|Wave|Approv|Each|Undo|Handed|Begins|OwnInvocations' -args -conflicts 1ms

.PHONY: crash
crash: ## Kill the process, and single functions, at every failpoint (infra/crash/matrix.md)
	go run ./infra/crash -update
	go run ./infra/crash -few -rounds 44 -lambda process -update

.PHONY: provider
provider: $(AIMOCK)/node_modules/@copilotkit/aimock/package.json $(STANDARD)/node_modules/standardwebhooks/package.json $(EVERYTHING)/node_modules/@modelcontextprotocol/server-everything/package.json ## Drive everything against a model provider, an MCP server and a service that are not ours (needs npm; PowerDNS)
	PILOTO_AIMOCK=$(AIMOCK) PILOTO_STANDARDWEBHOOKS=$(STANDARD) PILOTO_EVERYTHING=$(EVERYTHING) go test -count=1 ./infra/provider

.PHONY: axe
axe: $(AXE)/node_modules/axe-core/axe.min.js ## Look at every view of the page with axe, in both languages and themes and three widths (needs npm, chromium)
	PILOTO_TESTS=every PILOTO_AXE=$(AXE) go test -count=1 ./internal/edge/webui -run Axe $(SHOTS)

.PHONY: shots
shots: ## Leave a picture of every view, and of what nobody expects, in build/shots (needs npm, chromium)
	mkdir -p build/shots && $(MAKE) axe SHOTS="-args -shots $(CURDIR)/build/shots"
	PILOTO_TESTS=every go test -count=1 ./internal/edge/webui -run 'Extremes|SlowPhone|TwoTabs|ExpiresWhile|ClockThat|ServerIsGone' -args -shots $(CURDIR)/build/shots

.PHONY: n8n
n8n: ## Import the workflows into a real n8n and drive them (needs npm; several minutes the first time)
	go run ./infra/n8n

.PHONY: bench
bench: ## Measure turns and runs against a floor measured in the same run, their cost on AWS, and how they grow
	go run ./infra/bench
	go run ./infra/bench -cost
	go run ./infra/bench -growth

.PHONY: play
play: ## Play everyday tasks at a small business with a model (OPENAI_*; PLAYFLAGS="-tasks '^es' -v", or -by-hand FOLDER; infra/shop/README.md)
	@go run ./infra/shop $(PLAYFLAGS)

.PHONY: picture
picture: ## Take the picture of the README anew (needs chromium)
	@shots=$$(mktemp -d) && PILOTO_SHOTS=$$shots PILOTO_TESTS=change go test -count=1 ./infra/e2e -run TestAnEnglishVisitorReadsOneLanguage \
		&& cp $$shots/english-wide-light.png docs/page.png && rm -r $$shots

.PHONY: check
check: fmt lint asl template ## Everything that is not a test: format, lint with vet, state machine, template

.PHONY: fmt
fmt: $(LINT) ## Show what gofumpt would change, and fail if anything
	@$(LINT) fmt --diff

.PHONY: linters
linters: $(LINT)

.PHONY: lint
lint: $(LINT) ## Run the linters of .golangci.yml; vet and the format are among them
	@$(LINT) run $(PACKAGES)

.PHONY: asl
asl: $(ASL) ## Validate the state machines (needs npm)
	@# Resources are substitutions until they are deployed, hence no ARN check.
	@for file in statemachines/*.asl.json; do $(ASL) --no-arn-check --json-path $$file || exit 1; done

.PHONY: template
template: cfn-lint ## Hold template.yaml against the code and against what one process can honour
	go test ./infra/localaws/template ./internal/archtest

.PHONY: cfn-lint
cfn-lint: ## Hold template.yaml against AWS's rules (needs Python)
	@# cfn-lint has found what no reading did: a circle of references. It brings AWS's transform.
	@if python3 -c 'import cfnlint; assert cfnlint.version.__version__ == "1.51.0"' 2>/dev/null; then python=python3; \
	elif [ -x $(CFNLINT) ] || $(MAKE) -s $(CFNLINT); then python=$(dir $(CFNLINT))python; \
	else echo "cfn-lint 1.51.0 could not be installed, as is said above (it needs python3 with venv, and a registry): its rules were not checked"; exit 0; fi; \
	$$python -c 'import cfnlint.version, samtranslator; print("cfn-lint", cfnlint.version.__version__, "with AWS transform", samtranslator.__version__)'; \
	$$python -c 'from cfnlint.runner import main; main()' template.yaml && $$python infra/transform.py template.yaml

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what is called (needs vuln.go.dev)
	@if curl -sfm 10 -o /dev/null https://vuln.go.dev/index/db.json; then go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(PACKAGES); \
	else echo "vuln.go.dev cannot be reached from here: known vulnerabilities were not looked for"; fi

.PHONY: build
build: $(BUILT) ## Build the bootstrap of every function into build/ARCH/FUNCTION/

.PHONY: sizes
sizes: build ## Hold the size of every bootstrap
	go run ./infra/bench -size build

# One command builds all of them, because each reads and hashes all packages anew. What is up to date is not linked again.
$(BUILT): FORCE
	@mkdir -p $(FUNCTIONS:%=$@/%) $@/.all
	GOARCH=$(@F) $(BUILD) -o $@/.all/ ./functions/...
	@for f in $(FUNCTIONS); do ln -f $@/.all/$$f $@/$$f/bootstrap; done

# `sam build` asks for build-ChatFunction and tells where to put it.
build-%Function: FORCE
	GOARCH=arm64 $(BUILD) -o "$(ARTIFACTS_DIR)/bootstrap" ./functions/$$(tr A-Z a-z <<<'$*')

.PHONY: deploy
deploy: ## Deploy to AWS (needs the SAM CLI and credentials)
	sam build
	sam deploy --guided

.PHONY: assets
assets: ## Put the page's files into BUCKET, of a deployment with a distribution (needs the AWS CLI and credentials)
	@test -n "$(BUCKET)" || { echo "make assets BUCKET=...: the output AssetBucketName of the stack"; exit 1; }
	go run ./infra/assets -to build/page
	aws s3 cp --recursive build/page/assets s3://$(BUCKET)/assets --cache-control "public, max-age=31536000, immutable"

.PHONY: clean
clean: ## Remove what was built; data and caches stay
	rm -rf build bin .aws-sam

.PHONY: FORCE
FORCE:

$(LINT): infra/tools/go.mod
	@mkdir -p $(@D)
	cd infra/tools && GOWORK=off GOFLAGS= CGO_ENABLED=0 go build -trimpath -gcflags=all=-dwarf=false -ldflags="-s -w" -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(ASL):
	@# A name of its own for each version, so that another is another folder.
	$(NPM) --prefix $(CACHE)/asl-validator@4.0.0 asl-validator@4.0.0

$(DYNALITE)/node_modules/dynalite/package.json:
	$(NPM) --prefix $(DYNALITE) dynalite@4.0.0

$(CFNLINT):
	python3 -m venv $(CACHE)/cfn-lint@1.51.0
	$(CACHE)/cfn-lint@1.51.0/bin/pip install --quiet --disable-pip-version-check --retries 1 --timeout 10 cfn-lint==1.51.0 aws-sam-translator==1.110.0

$(STANDARD)/node_modules/standardwebhooks/package.json:
	$(NPM) --prefix $(STANDARD) standardwebhooks@1.1.1

$(AIMOCK)/node_modules/@copilotkit/aimock/package.json:
	$(NPM) --prefix $(AIMOCK) @copilotkit/aimock@1.43.0

$(AXE)/node_modules/axe-core/axe.min.js:
	$(NPM) --prefix $(AXE) axe-core@4.14.1

$(EVERYTHING)/node_modules/@modelcontextprotocol/server-everything/package.json:
	$(NPM) --prefix $(EVERYTHING) @modelcontextprotocol/server-everything@2026.8.31
