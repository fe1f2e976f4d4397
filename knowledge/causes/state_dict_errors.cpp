#include "knowledge/causes/state_dict_errors.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

constexpr std::array<std::string_view, 8> kWrappers{
    "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod.",   "module.",
    "_forward_module.",      "base_model.model.",           "_flat_param.", "model."};

std::string without_wrappers(std::string name) {
  for (const auto wrapper : kWrappers) name = replace_all(std::move(name), wrapper, "");
  return name;
}

std::vector<long long> shape_after(std::string_view low, std::string_view key) {
  const auto at = low.find(key);
  if (at == std::string_view::npos) return {};
  const auto open = low.find_first_of("[(", at + key.size());
  if (open == std::string_view::npos) return {};
  const auto list = low.find('[', at + key.size());
  const auto from = list != std::string_view::npos && list < open + 14 ? list : open;
  const auto close = low.find_first_of("])", from);
  return integers_in(low.substr(from, close - from));
}

// Two tables of the same width whose many rows differ a little: two vocabularies.
bool near_tables(const std::vector<long long>& a, const std::vector<long long>& b) {
  if (a.size() != 2 || b.size() != 2 || a[1] != b[1] || std::min(a[0], b[0]) < 10000) return false;
  return 4 * std::max(a[0], b[0]) < 5 * std::min(a[0], b[0]);
}

double elements(const std::vector<long long>& shape) {
  double product = 1;
  for (const auto size : shape) product *= static_cast<double>(size);
  return product;
}

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

// Words with a dot in them: parameter names.
void names_in(std::string_view text, std::set<std::string>& out) {
  for (std::size_t at = 0; at < text.size() && out.size() < 400;) {
    std::size_t end = at;
    while (end < text.size() && name_char(text[end])) ++end;
    auto word = text.substr(at, end - at);
    while (!word.empty() && word.back() == '.') word.remove_suffix(1);
    if (word.size() > 3 && word.find('.') != std::string_view::npos && word.find(".py") == std::string_view::npos)
      out.insert(std::string(word));
    at = end + 1;
  }
}

// Two names of which one is the other with something more or less in front: at least a module and its parameter agree.
bool one_ends_the_other(const std::string& a, const std::string& b) {
  const std::string& tail = a.size() < b.size() ? a : b;
  const std::string& whole = a.size() < b.size() ? b : a;
  return tail.size() >= 16 && std::count(tail.begin(), tail.end(), '.') >= 2 &&
         whole.compare(whole.size() - tail.size(), tail.size(), tail) == 0;
}

}  // namespace

bool SizeMismatch::empty() const {
  return saved.empty() || elements(saved) == 0 || (elements(saved) == 1 && elements(wanted) > 1);
}

bool SizeMismatch::unheld() const {
  return !saved.empty() && elements(saved) > 0 && !wanted.empty() && elements(wanted) == 0;
}

double SizeMismatch::ratio() const {
  return empty() ? 0 : elements(wanted) / elements(saved);
}

const std::vector<Mark>& state_dict_marks() {
  static const std::vector<Mark> marks{
      {"size_mismatch",
       "size mismatch for|set a tensor of shape*which has shape|copying a param with shape|shapes are not "
       "compatible*checkpoint|shape*checkpoint*shape*model|size mismatch between saved"},
      {"names",
       "checkpoint keys|ckpt keys|saved keys|keys in checkpoint|keys in the checkpoint|state_dict keys|model keys|keys in "
       "model|expected keys|model expects|checkpoint has*.|missing key|unexpected key|missing_keys|unexpected_keys|missing:|unexpected:|missing keys|unexpected "
       "keys|parameters or buffers are not found|not used by the model|were not used when initializing|keyerror: '"},
  };
  return marks;
}

namespace {

// Tables that lack the same rows as an embedding or a head does are of the same vocabulary, whatever they are called.
void spread_vocabulary(std::vector<SizeMismatch>& rows) {
  const auto table = [](const SizeMismatch& row) {
    return row.saved.size() == 2 && row.wanted.size() == 2 && row.saved[1] == row.wanted[1] &&
           row.saved[0] != row.wanted[0];
  };
  std::set<std::pair<std::vector<long long>, std::vector<long long>>> vocabularies;
  for (const auto& row : rows) {
    if (row.embedding && table(row)) vocabularies.emplace(row.saved, row.wanted);
  }
  for (auto& row : rows) {
    const bool numbered = row.name.find_first_of("0123456789") != std::string::npos;
    if (!numbered && !row.name.empty() && vocabularies.count({row.saved, row.wanted}) > 0) row.embedding = true;
  }
}

}  // namespace

std::vector<SizeMismatch> read_size_mismatches(const LogBook& book) {
  std::vector<SizeMismatch> out;
  for (const int index : book.find("core", "size_mismatch").lines) {
    const auto& low = book.at(index).low;
    SizeMismatch row;
    row.line = index;
    row.name = word_after(low, "size mismatch for");
    if (!row.name.empty() && row.name.back() == ':') row.name.pop_back();
    row.saved = shape_after(low, "copying a param with shape");
    row.wanted = shape_after(low, "current model is");
    if (row.saved.empty() && row.wanted.empty() && low.find("which has shape") != std::string::npos) {
      row.saved = shape_after(low, "tensor of shape");
      row.wanted = shape_after(low, "which has shape");
    }
    if (row.saved.empty() && row.wanted.empty()) {
      row.saved = shape_after(low, "saved");
      row.wanted = shape_after(low, "current");
    }
    row.embedding = matches_any(
        "embed|wte|lm_head|word_embedding|output.weight|tok_emb|head.weight|vocab|score.weight|wpe|shared.weight",
        row.name.empty() ? low : row.name);
    row.embedding = row.embedding || row.name == "emb.weight" || matches_any(".emb.weight", row.name) ||
                    near_tables(row.saved, row.wanted);
    out.push_back(std::move(row));
  }
  spread_vocabulary(out);
  return out;
}

NameMismatch read_name_mismatch(const LogBook& book) {
  NameMismatch out;
  for (const int index : book.find("core", "names").lines) {
    const auto& line = book.at(index);
    const bool missing =
        matches_any("missing|model keys|keys in model|expected keys|model expects|wants*keys", line.low);
    const bool unexpected = matches_any(
        "unexpected|were not used|checkpoint keys|ckpt keys|saved keys|keys in checkpoint|keys in the checkpoint|state_dict "
        "keys|checkpoint has*.",
        line.low);
    if (!missing && !unexpected) continue;
    out.lines.push_back(index);
    const auto split_at = missing && unexpected ? line.text.find("nexpected") : std::string::npos;
    const std::string_view text = line.body();
    names_in(missing ? text.substr(
                           0, split_at == std::string::npos ? split_at : split_at - std::min(split_at, line.head.body))
                     : std::string_view{},
             out.missing);
    if (unexpected)
      names_in(split_at == std::string::npos ? text : std::string_view(line.text).substr(split_at), out.unexpected);
    // Long lists continue on the next lines, one name each.
    for (int next = book.below(index), count = 0; next >= 0 && count < 20; next = book.below(next), ++count) {
      const auto body = trim(book.at(next).body());
      if (body.empty() || (body.front() != '"' && body.front() != '\'')) break;
      names_in(body, missing ? out.missing : out.unexpected);
    }
  }
  std::set<std::string> bare;
  for (const auto& name : out.missing) bare.insert(without_wrappers(name));
  std::size_t shared = 0;
  for (const auto& name : out.unexpected) {
    const bool tail = std::any_of(out.missing.begin(), out.missing.end(),
                                  [&](const std::string& wanted) { return one_ends_the_other(name, wanted); });
    shared += (bare.count(without_wrappers(name)) > 0 || tail) && out.missing.count(name) == 0;
  }
  out.same_without_wrappers = shared > 0 && 2 * shared >= out.unexpected.size();
  return out;
}

}  // namespace fx::knowledge
