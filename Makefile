# The front door. `make demo` shows the main job, `make test` runs every test; both install what is missing first.
.DEFAULT_GOAL := help
.PHONY: help demo build cuda-build core test lint format docs bench bench-engine clean bootstrap
JOBS ?= $(shell nproc)
export NINJA_STATUS := [%f/%t %es] 

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

bootstrap:
	@scripts/bootstrap.sh full

build: bootstrap ## both programs into build/bin (release)
	@scripts/build.sh release fsdp-expert fsdp-engine

cuda-build: bootstrap ## fsdp-engine for NVIDIA GPUs, without a toolkit or a GPU; tests/gpu/run.sh checks it where there is one
	@scripts/cuda_build.sh

core: ## everything but the engine, without LibTorch, and its tests
	@scripts/bootstrap.sh core
	@scripts/build.sh core all
	@ctest --preset core

demo: build ## the main job, end to end, on a real model
	@build/venv/bin/python scripts/demo/demo.py

test: bootstrap ## build everything and run all tests
	@scripts/test.sh

lint: ## formatting, include directions, shell and Python syntax
	@scripts/lint.sh

format: ## apply clang-format
	@git ls-files '*.cpp' '*.h' | xargs clang-format -i

docs: build ## regenerate docs/reference and tools/snapshots from the catalogues
	@build/bin/fsdp-expert docs write docs/reference
	@scripts/tool_snapshots.py write --bin build/bin/fsdp-expert

bench: build ## server latency and memory; engine step time
	@build/venv/bin/python tests/bench/bench.py

bench-engine: build ## fsdp-engine against Python FSDP2, side by side: about 40 minutes
	@build/venv/bin/python scripts/get_model.py
	@build/venv/bin/python tests/bench/engine/bench_engine.py

clean: ## remove the build folder, downloads and the virtual environment with it
	@rm -rf build
