#include "knowledge/convert/difference.h"

#include <algorithm>
#include <set>

#include "base/secret.h"
#include "base/text.h"

namespace fx::knowledge {
namespace {

std::string shown_value(const std::string& name, const std::string& value) {
  if (is_secret_setting(name, value)) return "[secret]";
  return quote_input(mask_secrets(value), 120);
}

// "\"bf16\"" -> "bf16": flat fields are JSON.
std::string plain(const std::string& json) {
  return json.size() >= 2 && json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

std::string meaning(const std::string& field, const std::string& value) {
  if (field == "strategy") {
    for (const char* sharded : {"\"fsdp\"", "\"fsdp1\"", "\"fsdp2\"", "\"zero2\"", "\"zero3\""}) {
      if (value == sharded) return "sharded";
    }
  }
  if (field == "optimizer" && value == "\"adamw-fused\"") return "\"adamw\"";
  return value;
}

using Flat = std::map<std::string, std::string>;

std::string at(const Flat& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

class Comparer {
 public:
  Comparer(const Sides& sides, const Target& target, const WriteNotes& notes, Conversion& out)
      : sides_(sides),
        target_(target),
        notes_(notes),
        out_(out),
        before_(flat_fields(sides.source.run)),
        after_(flat_fields(sides.output.run)) {}

  void run() {
    for (const Origin& origin : sides_.source.origins) check_origin(origin);
    for (const Setting& setting : sides_.settings) check_setting(setting);
    std::sort(out_.dropped.begin(), out_.dropped.end(),
              [](const Dropped& a, const Dropped& b) { return std::tie(a.line, a.key) < std::tie(b.line, b.key); });
    for (const auto& placeholder : notes_.placeholders())
      assume(placeholder.key, placeholder.value, placeholder.reason);
    for (const auto& [field, value] : after_) check_field(field, value);
  }

 private:
  bool kept(const std::string& field) const { return same_meaning(field, at(before_, field), at(after_, field)); }
  bool carried(const std::string& name, int line) const {
    return std::find(sides_.carried.begin(), sides_.carried.end(), std::pair(name, line)) != sides_.carried.end();
  }
  void drop(const std::string& key, const std::string& name, int line, const std::string& value, std::string reason) {
    if (!seen_.emplace(key + "\n" + name, line).second) return;
    out_.dropped.push_back({quote_input(mask_secrets(key), 120), line, shown_value(name, value), std::move(reason)});
  }
  void check_origin(const Origin& origin) {
    if (kept(origin.field) || at(before_, origin.field).empty() || carried(origin.name, origin.line)) return;
    std::string reason = notes_.reason(origin.field);
    if (reason.empty()) reason = reason_for(target_, origin.field);
    drop(origin.key, origin.name, origin.line, origin.value, std::move(reason));
  }
  void check_setting(const Setting& setting) {
    if (carried(setting.name, setting.line) || setting.silent) return;
    const auto& origins = sides_.source.origins;
    const bool shapes_run = std::any_of(origins.begin(), origins.end(), [&](const Origin& origin) {
      return origin.line == setting.line && origin.name == setting.name;
    });
    if (shapes_run) return;
    drop(setting.key, setting.name, setting.line, setting.value,
         setting.secret ? "a secret is not copied" : reason_for_setting(target_, setting.name));
  }
  void check_field(const std::string& field, const std::string& value) {
    if (kept(field)) return;
    const auto written = sides_.output.of(field);
    if (written.empty() && at(before_, field).empty()) return;  // a default of the target, not of ours
    std::string reason = notes_.reason(field);
    if (reason.empty()) {
      reason = at(before_, field).empty()
                   ? "the source leaves it open"
                   : "instead of " + plain(at(before_, field)) + ": " + reason_for(target_, field);
    }
    assume(written.empty() ? field : written.front()->key, plain(value), std::move(reason));
  }
  void assume(const std::string& key, const std::string& value, std::string reason) {
    if (!assumed_.insert(key + "=" + value).second) return;
    out_.assumed.push_back({key, quote_input(mask_secrets(value), 120), quote_input(mask_secrets(reason), 300)});
  }

  const Sides& sides_;
  const Target& target_;
  const WriteNotes& notes_;
  Conversion& out_;
  Flat before_, after_;
  std::set<std::pair<std::string, int>> seen_;
  std::set<std::string> assumed_;
};

}  // namespace

bool same_meaning(const std::string& field, const std::string& a, const std::string& b) {
  return meaning(field, a) == meaning(field, b);
}

void compare(const Sides& sides, const Target& target, const WriteNotes& notes, Conversion& out) {
  Comparer(sides, target, notes, out).run();
}

}  // namespace fx::knowledge
