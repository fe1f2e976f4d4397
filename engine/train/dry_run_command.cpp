#include "engine/train/dry_run_command.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "engine/files/hf_folder.h"
#include "engine/lora/adapted_model.h"
#include "engine/train/dry_run.h"
#include "engine/train/train_command.h"

namespace fx::engine {
namespace {

struct Options {
  std::string spec_path;
  std::optional<long long> ranks;
  bool json = false;
};

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--ranks") {
      const auto ranks = i + 1 < arguments.size() ? to_integer(arguments[++i]) : std::nullopt;
      if (!ranks) return invalid_argument("--ranks", "needs a whole number", "for example --ranks 1024");
      options.ranks = ranks;
    } else if (options.spec_path.empty() && argument.substr(0, 2) != "--") {
      options.spec_path = argument;
    } else {
      return invalid_argument(quote_input(argument, 40), "is not understood",
                              "fsdp-engine dry-run SPEC.json [--ranks N] [--json]");
    }
  }
  if (options.spec_path.empty())
    return invalid_argument("SPEC.json", "is missing", "fsdp-engine dry-run SPEC.json [--ranks N] [--json]");
  return options;
}

Result<RunSpec> read_spec(const Options& options) {
  auto text = read_file(options.spec_path, std::size_t{4} << 20);
  if (!text) return text.error();
  auto json = parse_json(*text);
  if (!json) return json.error();
  if (options.ranks && json->is_object()) (*json)["ranks"] = *options.ranks;
  auto parsed = parse_run_spec(*json);
  if (!parsed) return parsed.error();
  for (const auto& warning : parsed->warnings) std::fprintf(stderr, "fsdp-engine: ignored: %s\n", warning.c_str());
  return parsed->spec;
}

}  // namespace

int dry_run_command(const std::vector<std::string>& arguments) {
  const auto options = parse_options(arguments);
  if (!options) return print_failure(options.error());
  const auto spec = read_spec(*options);
  if (!spec) return print_failure(spec.error());
  if (spec->fsdp.cpu_offload) {
    return print_failure(
        unsupported("fsdp.cpu_offload", "a dry run does not count host memory and the device's apart", "use false"));
  }
  const auto shape = read_folder_shape(spec->model);
  if (!shape) return print_failure(shape.error());
  const DryRun run = dry_run(*with_adapters(make_model(*shape), *shape, spec->lora), *spec);
  std::fputs((options->json ? to_text(to_json(run), 2) + "\n" : to_table(run)).c_str(), stdout);
  return 0;
}

}  // namespace fx::engine
