#include "knowledge/formats/input.h"

#include <algorithm>

#include "base/text.h"
#include "knowledge/formats/recognise.h"
#include "knowledge/formats/torchtitan/torchtitan.h"

namespace fx::knowledge {
namespace {

constexpr std::size_t kMaxText = std::size_t{2} << 20;  // far above any configuration

constexpr std::size_t kMaxPython = std::size_t{256} << 10;

void read_structured(Input& input) {
  if (input.syntax == "json") input.document = read_json(input.text);
  if (input.syntax == "yaml") input.document = read_yaml(input.text);
  if (input.syntax == "toml") input.document = read_toml(input.text);
}

}  // namespace

const std::vector<FormatName>& format_names() {
  static const std::vector<FormatName> names = {{kAccelerateYaml, "accelerate-yaml"},
                                                {kTrainerCli, "hf-trainer-cli"},
                                                {kFsdpConfigJson, "hf-fsdp-config-json"},
                                                {kTrainingArgsJson, "hf-training-args-json"},
                                                {kAxolotlYaml, "axolotl-yaml"},
                                                {kTorchtitanToml, "torchtitan-toml"},
                                                {kTorchtitanCli, "torchtitan-cli"},
                                                {kTorchtitanPython, "torchtitan-python"},
                                                {kTorchtuneYaml, "torchtune-yaml"},
                                                {kVerlOverrides, "verl-overrides"},
                                                {kSlimeCli, "slime-cli"},
                                                {kTorchrunCommand, "torchrun-command"},
                                                {kAccelerateLaunch, "accelerate-launch-command"},
                                                {kSbatchScript, "sbatch-script"},
                                                {kEnvFile, "env-file"},
                                                {kDeepspeedJson, "deepspeed-json"},
                                                {kLlamafactoryYaml, "llamafactory-yaml"},
                                                {kRunSpec, "fsdp-expert-run-spec"}};
  return names;
}

std::string_view to_string(Format format) {
  for (const auto& row : format_names()) {
    if (row.format == format) return row.name;
  }
  return "not-applicable";
}

const Launch* Input::launch_with(std::string_view argument) const {
  for (const auto& launch : launches) {
    if (launch.arguments.find(argument) != nullptr) return &launch;
  }
  return nullptr;
}

const Launch* Input::launch_of(std::string_view program) const {
  for (const auto& launch : launches) {
    if (contains(launch.program, program)) return &launch;
  }
  return nullptr;
}

bool KeyNames::has(std::string_view name) const {
  return std::find(top.begin(), top.end(), name) != top.end();
}
bool KeyNames::has_nested(std::string_view name) const {
  return std::find(nested.begin(), nested.end(), name) != nested.end();
}
int KeyNames::count(const std::vector<std::string_view>& names) const {
  int n = 0;
  for (const auto name : names) n += has(name) ? 1 : 0;
  return n;
}

Input read_input(std::string_view text, std::string_view filename, Context context) {
  Input input;
  input.text = std::string(text);
  input.filename = std::string(filename);
  input.context = std::move(context);
  if (text.size() > kMaxText) {
    input.seems =
        "a text of " + std::to_string(text.size() / 1024) + " KiB, far larger than any training configuration";
    input.pointer = "Hand over the configuration or the launch script alone; for a log use diagnose_failure.";
    return input;
  }
  input.syntax = guess_syntax(text, filename);
  KeyNames names;
  names.text = input.text;
  if (input.syntax == "yaml" || input.syntax == "json" || input.syntax == "toml") {
    read_structured(input);
    names = key_names(input.document, input.text, input.syntax);
    recognise_structured(input, names);
  } else if (input.syntax == "shell") {
    input.script = read_shell(input.text);
    input.launches = find_launches(input.script);
    recognise_script(input);
  } else if (input.syntax == "python" && text.size() <= kMaxPython &&
             (contains(text, "torchtitan") || contains(text, "ParallelismConfig("))) {
    input.document = read_titan_python(input.text);
    if (!input.document.root.children.empty()) {
      input.applicable = true;
      input.format = kTorchtitanPython;
      input.formats = kTorchtitanPython;
    }
  }
  if (!input.applicable) recognise_other(input, names);
  return input;
}

}  // namespace fx::knowledge
