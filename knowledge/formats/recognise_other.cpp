// What a text that we do not validate seems to be, and where to take it.
#include "base/text.h"
#include "knowledge/formats/recognise.h"

namespace fx::knowledge {
namespace {

struct Kind {
  std::string_view syntax;             // "" for any
  std::vector<std::string_view> keys;  // all must stand at the top
  std::string_view seems;
  std::string_view pointer;
};

constexpr std::string_view kDefaultPointer =
    "Hand over the training or launch configuration itself: an accelerate, axolotl, torchtune or LLaMA-Factory YAML, a "
    "Trainer or DeepSpeed JSON, a torchtitan TOML, a launch script, an sbatch script or an environment file.";
constexpr std::string_view kServing = "Serving is outside this tool; use the serving engine's own documentation.";

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"yaml", {"services"}, "a Docker Compose file", "Hand over the command or script that the container runs."},
      {"yaml", {"jobs", "on"}, "a GitHub Actions workflow", "Hand over the launch command inside the step."},
      {"yaml", {"stages"}, "a CI pipeline", "Hand over the launch command inside the job."},
      {"yaml", {"apiVersion", "kind"}, "a Kubernetes manifest", "Hand over the container's command and environment."},
      {"yaml", {"tensor-parallel-size"}, "a vLLM serving configuration", kServing},
      {"yaml", {"tensor_parallel_size", "gpu_memory_utilization"}, "a vLLM serving configuration", kServing},
      {"yaml", {"gpu-memory-utilization"}, "a vLLM serving configuration", kServing},
      {"yaml", {"max-model-len"}, "a vLLM serving configuration", kServing},
      {"json", {"mcpServers"}, "an MCP client configuration", kDefaultPointer},
      {"json", {"nodes", "connections"}, "a workflow export", kDefaultPointer},
      {"json", {"dependencies", "name"}, "a package.json", kDefaultPointer},
      {"json", {"architectures"}, "a Hugging Face model config.json", "Use plan_finetune with it as the model."},
      {"json",
       {"model_type", "hidden_size"},
       "a Hugging Face model config.json",
       "Use plan_finetune with it as the model."},
      {"toml", {"project"}, "a pyproject.toml", kDefaultPointer},
      {"toml", {"build-system"}, "a pyproject.toml", kDefaultPointer},
      {"toml", {"tool"}, "a pyproject.toml", kDefaultPointer},
      {"toml", {"package"}, "a Cargo manifest", kDefaultPointer},
      {"yaml", {"dependencies"}, "an environment or dependency file", kDefaultPointer},
      {"yaml", {"repos"}, "a pre-commit configuration", kDefaultPointer},
  };
  return list;
}

bool matches(const Kind& kind, const Input& input, const KeyNames& names) {
  if (!kind.syntax.empty() && kind.syntax != input.syntax) return false;
  for (const auto key : kind.keys) {
    if (!names.has(key)) return false;
  }
  return true;
}

}  // namespace

void recognise_other(Input& input, const KeyNames& names) {
  if (!input.seems.empty()) return;
  const auto set = [&](std::string_view seems, std::string_view pointer) {
    input.seems = std::string(seems);
    input.pointer = std::string(pointer);
  };
  for (const Kind& kind : kinds()) {
    if (matches(kind, input, names)) return set(kind.seems, kind.pointer);
  }
  const std::string_view text = input.text;
  if (trim(text).empty()) return set("an empty text", kDefaultPointer);
  if (contains(text, "Traceback (most recent call last)") || contains(text, "NCCL WARN") ||
      contains(text, "[rank0]:")) {
    return set("a log", "Use diagnose_failure for logs.");
  }
  if (input.syntax == "python") return set("Python source", "Use review_code for training code.");
  if (contains(text, "vllm serve") || contains(text, "sglang.launch_server")) return set("a serving command", kServing);
  if (text.substr(0, 5) == "FROM " || contains(text, "\nFROM ")) return set("a Dockerfile", kDefaultPointer);
  if (input.syntax == "shell") return set("a shell script that starts no training run we know", kDefaultPointer);
  if (input.syntax == "text") return set("plain text", kDefaultPointer);
  const std::string what = "a " + input.syntax + " file of another program";
  set(what, kDefaultPointer);
}

}  // namespace fx::knowledge
