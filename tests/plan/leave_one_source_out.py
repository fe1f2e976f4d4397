#!/usr/bin/env python3
"""How far the planner's measured constants depend on any one source of runs.

  leave_one_source_out.py RUNS.csv... [--build build/core] [--jobs 2] [--memory-only | --speed-only]

Builds knowledge/plan from this checkout (whose preset core must be built) with the constants below adjustable. For each source, every constant is fitted anew to the runs of
all other sources (coordinate descent over factors of its shipped value), and the source itself is then planned. Prints the errors of the
shipped constants, of a fit to all sources (what fitting could gain at most) and of the fits without the source, and how far each
constant moves. Constants that follow from code, a data sheet or a paper are not listed: there is nothing to fit in them.
"""
import argparse
import collections
import os
import pathlib
import json
import re
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from runs_table import arguments_of, measure_of, number, read_models, read_runs

ROOT = pathlib.Path(__file__).resolve().parents[2]
FACTORS = (0.5, 0.75, 1.33, 2.0)
MEMORY = ["kStaticWaste", "kTransientWaste", "kBlockWaste", "kTightWaste", "kContext", "kNccl", "kWorkspace"]
SPEED = ["kStreamShare", "kKernelShare", "kEagerLaunch", "kCompiledLaunch", "kDrain", "kOverlapTax", "kForeachPasses", "kHostBandwidth", "kUnitOps",
         "kZeroUnitOps", "kLayerOps", "kFusedLayerOps", "kAdapterOps", "kExpertOps", "kGroupedOps", "kImbalance", "kTunedGain",
         "kSelectiveRecompute", "kNetworkShare", "kLatency", "kNf4Traffic", "kGptqTraffic", "kInterleave"]
# Columns of the GPU table that rest on measurements, by generation of chip.
GENERATIONS = {"Ampere": ["a100", "a800", "a40", "a10", "a10g", "3090", "a6000", "a5000"], "Hopper": ["h100", "h800", "h20", "h200", "gh200"],
               "Blackwell": ["b200", "gb200", "b300", "gb300", "5090", "pro"], "Ada": ["l40s", "l40", "l4", "4090", "6000"],
               "Volta": ["v100", "t4"], "CDNA": ["mi250", "mi250x", "mi300x", "mi325x"]}
COLUMNS = {"gemm": "gemm_tflops", "attention": "attention_tflops", "pcie link": "link_gb_s"}
HEADER = """#pragma once
#include <cstdlib>
#include <string>
inline double adjusted(const std::string& name, double value) {
  const char* factor = std::getenv(name.c_str());
  return factor ? value * std::atof(factor) : value;
}
"""
PROGRAM = """#include <iostream>
#include <nlohmann/json.hpp>
#include "knowledge/plan/plan.h"
int main() {
  using namespace fx::knowledge::plan;
  for (std::string line; std::getline(std::cin, line);) {
    const auto json = fx::parse_json(line);
    const auto args = plan_fields().parse(*json);
    const auto plan = args ? make_plan(*args) : fx::Result<Plan>(args.error());
    if (!plan || !plan->applicable) { std::cout << "-\\n"; continue; }
    const auto& m = plan->chosen.memory;
    std::cout << m.allocated / kGib << ' ' << m.reserved / kGib << ' ' << m.nvidia_smi / kGib << ' '
              << plan->chosen.speed.tokens_per_s << '\\n';
  }
}
"""


def adjustable(text: str) -> str:
    """Constants of the lists above, multiplied by a factor out of the environment."""
    def statement(match):
        names = re.findall(r"\b(k\w+) = ", match[0])
        if not set(names) & set(MEMORY + SPEED):
            return match[0]
        changed = re.sub(r"\b(k\w+) = ([^,;]+)", r'\1 = adjusted("\1", \2)', match[0])
        return changed.replace("constexpr double", "const double")
    before = text
    text = re.sub(r"^(?:inline )?constexpr double [^;]+;", statement, text, flags=re.M)
    if "return table;" in text:
        chips = "".join(f'{{"{chip}", "{name}"}},' for name, some in GENERATIONS.items() for chip in some)
        scale = "".join(f'row.{field} *= adjusted("{name}:" + word->second, 1);' if name != "pcie link" else
                        f'if (row.link == Link::kPcie) row.{field} *= adjusted("{name}:" + word->second, 1);'
                        for name, field in COLUMNS.items())
        text = text.replace("return table;", f"""static const std::vector<Gpu> scaled = [] {{
          const std::map<std::string, std::string> generations = {{{chips}}};
          auto rows = table;
          for (auto& row : rows) if (auto word = generations.find(row.chip.front()); word != generations.end()) {{ {scale} }}
          return rows; }}();
        return scaled;""")
    if text == before:
        return text
    includes = '#include <map>\n#include "adjusted.h"\n'
    return text.replace("#pragma once\n", "#pragma once\n" + includes) if "#pragma once" in text else includes + text


def build(folder: pathlib.Path, libraries: pathlib.Path, jobs: int) -> pathlib.Path:
    """The program, from what constants change and the libraries of a built checkout."""
    plan = folder / "knowledge/plan"
    plan.mkdir(parents=True)
    (folder / "adjusted.h").write_text(HEADER)
    (plan / "main.cpp").write_text(PROGRAM)
    files = {file.name: file.read_text() for file in (ROOT / "knowledge/plan").glob("*.[ch]*") if "_test" not in file.name}
    changed = {name: text for name, old in files.items() if (text := adjustable(old)) != old}
    for name, old in files.items():
        if name in changed or any(f'"knowledge/plan/{header}"' in old for header in changed if header.endswith(".h")):
            (plan / name).write_text(changed.get(name, old))
    def compile_one(source):
        subprocess.run(["nice", "g++", "-std=c++20", "-O1", f"-I{folder}", f"-I{ROOT}", "-c", source, "-o", f"{source}.o"], check=True)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(compile_one, map(str, plan.glob("*.cpp"))))
    binary = folder / "plans"
    objects = map(str, plan.glob("*.o"))
    archives = [libraries / name for name in ("knowledge/plan/libfx_plan.a", "spec/libfx_spec.a", "base/libfx_base.a")]
    subprocess.run(["g++", *objects, *archives, "-o", binary], check=True)
    return binary


class Planner:
    """Errors of all runs under a set of factors, by source; asked once a set."""

    def __init__(self, binary: pathlib.Path, rows: list, lines: str):
        self.binary, self.rows, self.lines, self.known = binary, rows, lines, {}

    def errors(self, factors: dict) -> tuple:
        key = tuple(sorted(item for item in factors.items() if item[1] != 1))
        if key not in self.known:
            self.known[key] = self.plan(dict(key))
        return self.known[key]

    def plan(self, factors: dict) -> tuple:
        environment = os.environ | {name: str(value) for name, value in factors.items()}
        done = subprocess.run([self.binary], input=self.lines, capture_output=True, text=True, env=environment, check=True)
        memory, speed = collections.defaultdict(list), collections.defaultdict(list)
        for row, line in zip(self.rows, done.stdout.splitlines(), strict=True):
            if line == "-":
                continue
            figures = dict(zip(("allocated", "reserved", "nvidia_smi", "speed"), map(float, line.split())))
            if peak := number(row, "peak_mem_gib"):
                memory[row["source_group"]].append(abs(figures[measure_of(row)] / peak - 1))
            if (rate := number(row, "tokens_per_s_per_gpu")) and row["outcome"] != "oom":
                speed[row["source_group"]].append(abs(figures["speed"] / rate - 1))
        return tuple({source: statistics.median(values) for source, values in some.items()} for some in (memory, speed))


def score(planner: Planner, factors: dict, which: int, without: str) -> float:
    return statistics.mean(error for source, error in planner.errors(factors)[which].items() if source != without)


def fit(planner: Planner, names: list, which: int, without: str) -> dict:
    """One pass of coordinate descent; a factor is changed only for a gain."""
    factors = {name: 1.0 for name in names}
    best = score(planner, factors, which, without)
    for name in names:
        for factor in FACTORS:
            value = score(planner, factors | {name: factor}, which, without)
            if value < best - 1e-6:
                best, factors = value, factors | {name: factor}
    return factors


def report(planner: Planner, title: str, names: list, which: int) -> None:
    shipped = planner.errors({})[which]
    idle = [name for name in names if all(planner.errors({name: factor})[which] == shipped for factor in FACTORS)]
    names = [name for name in names if name not in idle]
    best = fit(planner, names, which, "")
    fitted = planner.errors(best)[which]
    held, moved = {}, collections.defaultdict(set)
    for source in shipped:
        factors = fit(planner, names, which, source)
        held[source] = planner.errors(factors)[which][source]
        for name, factor in factors.items():
            moved[name].add(factor)
    print(f"\n{title}: mean of {len(shipped)} sources' medians: shipped {100 * statistics.mean(shipped.values()):.1f} %, "
          f"fitted to all {100 * statistics.mean(fitted.values()):.1f} %, fitted without the source "
          f"{100 * statistics.mean(held.values()):.1f} %")
    print("| source | shipped | fitted without it |\n|---|---|---|")
    for source in sorted(shipped):
        print(f"| {source} | {100 * shipped[source]:.1f} | {100 * held[source]:.1f} |")
    print("| constant | factors chosen over all fits |\n|---|---|")
    for name in names:
        if moved[name] != {1.0}:
            print(f"| {name} | {', '.join(f'{value:g}' for value in sorted(moved[name]))} |")
    print("Never moved: " + ", ".join(name for name in names if moved[name] == {1.0}))
    print("No source's median depends on: " + ", ".join(idle))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=pathlib.Path, nargs="+")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/core")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory-only", action="store_true")
    parser.add_argument("--speed-only", action="store_true")
    o = parser.parse_args()
    rows, lines, models = [], [], {}
    for path in o.runs:
        models |= read_models(path.parent / "models")
    for path in o.runs:
        for row in read_runs(path):
            rows.append(row)
            lines.append(json.dumps(arguments_of(row, models)))
    columns = [f"{name}:{generation}" for name in COLUMNS for generation in GENERATIONS]
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(build(pathlib.Path(folder), o.build.resolve(), o.jobs), rows, "\n".join(lines) + "\n")
        if not o.speed_only:
            report(planner, "Memory", MEMORY, 0)
        if not o.memory_only:
            report(planner, "Speed", SPEED + columns, 1)


if __name__ == "__main__":
    main()
