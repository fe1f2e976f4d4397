#include "knowledge/store/fact.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "spec/json.h"

namespace fx::knowledge {
namespace {

class LineReader {
 public:
  LineReader(std::string where, const Json& row, FactFile& out) : where_(std::move(where)), row_(row), out_(out) {}

  std::vector<Error> read() {
    if (!row_.is_object()) {
      fail("a line is one JSON object");
    } else if (row_.contains("synonyms")) {
      read_synonyms();
    } else if (row_.contains("cues")) {
      read_cues();
    } else if (row_.contains("stop_words")) {
      append_list("stop_words", out_.stop_words);
    } else {
      read_fact();
    }
    return std::move(errors_);
  }

 private:
  void fail(const std::string& what) { errors_.push_back(invalid_argument(where_, what)); }

  std::string text(const char* key, bool required) {
    const auto found = row_.find(key);
    if (found == row_.end()) {
      if (required) fail(std::string("\"") + key + "\" is missing");
      return "";
    }
    if (!found->is_string() || (required && found->get_ref<const std::string&>().empty())) {
      fail(std::string("\"") + key + "\" must be a text");
      return "";
    }
    return found->get<std::string>();
  }

  void append_list(const char* key, std::vector<std::string>& out) {
    const auto found = row_.find(key);
    if (found == row_.end()) return;
    if (!found->is_array()) return fail(std::string("\"") + key + "\" must be a list of texts");
    for (const auto& item : *found) {
      if (!item.is_string()) return fail(std::string("\"") + key + "\" must be a list of texts");
      out.push_back(item.get<std::string>());
    }
  }

  void read_fact() {
    static const std::vector<std::string> known = {"id",    "title", "text",      "source",         "language",
                                                   "scope", "tags",  "questions", "contradicted_by"};
    for (const auto& [key, value] : row_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) fail("unknown key \"" + key + "\"");
    }
    Fact fact;
    fact.kind = "fact";
    fact.id = text("id", true);
    fact.title = text("title", true);
    fact.text = text("text", true);
    if (row_.contains("language")) fact.language = text("language", false);
    if (row_.contains("scope")) fact.scope = text("scope", false);
    append_list("tags", fact.tags);
    append_list("questions", fact.questions);
    append_list("contradicted_by", fact.contradicted_by);
    const auto source = row_.find("source");
    if (source == row_.end() || !source->is_object() || !(source->contains("repo") || source->contains("doc"))) {
      fail("\"source\" must be an object with \"repo\" or \"doc\"");
    } else {
      fact.source = to_text(*source);
    }
    out_.facts.push_back(std::move(fact));
  }

  void read_synonyms() {
    const auto& table = row_["synonyms"];
    if (!table.is_object()) return fail("\"synonyms\" must be an object");
    for (const auto& [phrase, expansion] : table.items()) {
      if (!expansion.is_string()) return fail("a synonym is a text");
      out_.synonyms.push_back({phrase, expansion.get<std::string>()});
    }
  }

  void read_cues() {
    const std::string topic = text("topic", true);
    const auto& table = row_["cues"];
    if (!table.is_object()) return fail("\"cues\" must be an object");
    for (const auto& [phrase, weight] : table.items()) {
      if (!weight.is_number()) return fail("a cue's weight is a number");
      out_.cues.push_back({topic, phrase, weight.get<double>()});
    }
  }

  std::string where_;
  const Json& row_;
  FactFile& out_;
  std::vector<Error> errors_;
};

}  // namespace

Result<FactFile> parse_facts(std::string_view path, std::string_view text) {
  FactFile out;
  std::vector<Error> errors;
  int number = 0;
  for (const auto line : split_lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    const std::string where = std::string(path) + ":" + std::to_string(number);
    const auto row = parse_json(line);
    if (!row) {
      errors.push_back(invalid_argument(where, row.error().message));
      continue;
    }
    for (auto& error : LineReader(where, *row, out).read()) errors.push_back(std::move(error));
  }
  if (!errors.empty()) return combine(std::move(errors));
  return out;
}

}  // namespace fx::knowledge
