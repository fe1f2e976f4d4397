#include "tools/diagnose_failure.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "knowledge/causes/diagnose.h"
#include "spec/diagnosis.h"

namespace fx::tools {
namespace {

constexpr std::size_t kMaxLogs = 5000;
constexpr std::size_t kMaxSettings = 5000;

constexpr const char* kInput = R"({"type":"object","properties":{
"log":{"type":"string","description":"The job's output: all ranks interleaved, or one rank's log. Plain text as it was printed."},
"logs":{"type":"array","description":"Several logs of one failure: trainer, inference server, dmesg, one file a rank, flight recorder dumps.","items":{"type":"object","properties":{"name":{"type":"string","description":"File or program name; rank_3.log tells the rank"},"text":{"type":"string"}},"required":["text"]}},
"config":{"type":"object","description":"Settings of the job, if known: they confirm or refute a cause.","additionalProperties":true}}})";

constexpr const char* kOutput = R"({"type":"object","properties":{
"verdict":{"type":"string","enum":["failure","no_failure_found","not_applicable"]},
"reason":{"type":"string"},
"causes":{"type":"array","description":"Best first","items":{"type":"object","properties":{"id":{"type":"string"},"confidence":{"type":"number"},"root_rank":{"type":"integer","description":"Global rank where the fault began; null when the log names none or several ranks failed alike"},"summary":{"type":"string"},"evidence":{"type":"array","items":{"type":"object","properties":{"log":{"type":"string"},"line":{"type":"integer"},"text":{"type":"string"}}}},"first_step":{"type":"string"},"next_steps":{"type":"array","items":{"type":"string"}},"sources":{"type":"array","items":{"type":"string"}}}}}},
"required":["verdict","causes"]})";

void flatten(const Json& value, const std::string& path, knowledge::JobConfig& out) {
  if (out.size() > kMaxSettings) return;
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) flatten(item, path.empty() ? key : path + "." + key, out);
    return;
  }
  const std::string text = to_lower(value.is_string() ? value.get<std::string>() : to_text(value));
  const std::string key = to_lower(path);
  out[key] = text;
  if (const auto dot = key.rfind('.'); dot != std::string::npos) out.emplace(key.substr(dot + 1), text);
}

// Reads "key: value" and "key=value" lines; anything else is skipped.
void read_lines(std::string_view text, knowledge::JobConfig& out) {
  for (const auto line : split_lines(text)) {
    const auto at = line.find_first_of(":=");
    if (at == std::string_view::npos || out.size() > kMaxSettings) continue;
    const auto key = trim(line.substr(0, at));
    if (!key.empty()) out[to_lower(key)] = to_lower(trim(line.substr(at + 1)));
  }
}

Result<std::vector<knowledge::NamedLog>> read_logs(const Json& arguments) {
  std::vector<knowledge::NamedLog> out;
  if (const auto log = arguments.find("log"); log != arguments.end() && !log->is_null()) {
    if (!log->is_string())
      return invalid_argument("log", "must be a string", "send the log's text; several logs go into logs[]");
    out.push_back({"", log->get_ref<const std::string&>()});
  }
  const auto logs = arguments.find("logs");
  if (logs != arguments.end() && !logs->is_null()) {
    if (!logs->is_array() || logs->size() > kMaxLogs)
      return invalid_argument("logs", "must be an array of at most 5000 {name, text}");
    for (std::size_t i = 0; i < logs->size(); ++i) {
      const auto& item = (*logs)[i];
      const std::string path = "logs[" + std::to_string(i) + "]";
      if (!item.is_object() || !item.contains("text") || !item["text"].is_string()) {
        return invalid_argument(path + ".text", "must be a string", "each entry is {\"name\": ..., \"text\": ...}");
      }
      std::string name = item.contains("name") && item["name"].is_string() ? item["name"].get<std::string>() : path;
      out.push_back({std::move(name), item["text"].get_ref<const std::string&>()});
    }
  }
  if (out.empty()) return invalid_argument("log", "is missing", "give log (text) or logs (an array of {name, text})");
  return out;
}

Result<Json> handle(const Json& arguments, ToolContext&) {
  auto logs = read_logs(arguments);
  if (!logs) return logs.error();
  knowledge::JobConfig config;
  if (const auto it = arguments.find("config"); it != arguments.end()) config = read_job_config(*it);
  return to_json(knowledge::diagnose(*logs, config));
}

}  // namespace

knowledge::JobConfig read_job_config(const Json& config) {
  knowledge::JobConfig out;
  if (config.is_object()) flatten(config, "", out);
  if (config.is_string()) read_lines(config.get_ref<const std::string&>(), out);
  return out;
}

Tool diagnose_failure_tool() {
  return {"diagnose_failure",
          "Finds the root cause of a failed, hanging or slow distributed training run from its logs: the cause, the "
          "lines that prove "
          "it, the rank where it began, the first step to take. Says so when nothing failed or the text is no training "
          "log.",
          kInput,
          kOutput,
          true,
          handle};
}

}  // namespace fx::tools
