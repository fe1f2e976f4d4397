#include "spec/fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fx {
namespace {

std::string child(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::string kind_of(const Json& json) {
  if (json.is_number_integer()) return "an integer";
  if (json.is_number()) return "a number";
  if (json.is_string()) return "a string";
  if (json.is_boolean()) return "a boolean";
  if (json.is_array()) return "a list";
  if (json.is_object()) return "an object";
  return "null";
}

bool wrong_type(const Json& json, const std::string& wanted, const std::string& path, ReadLog& log) {
  log.errors.push_back(invalid_argument(path, "must be " + wanted + ", not " + kind_of(json)));
  return false;
}

std::string number_text(double value) {
  Json json = value;
  if (value == std::floor(value) && std::abs(value) < 1e15) json = static_cast<long long>(value);
  return json.dump();
}

bool in_range(double value, const FieldInfo& field, const std::string& path, ReadLog& log) {
  // Written so that not-a-number is out of any range.
  const bool low = field.minimum && !(field.above_minimum ? value > *field.minimum : value >= *field.minimum);
  const bool high = field.maximum && !(value <= *field.maximum);
  if (!low && !high) return true;
  std::string rule;
  if (field.minimum) rule = (field.above_minimum ? "above " : "at least ") + number_text(*field.minimum);
  if (field.maximum) rule += (rule.empty() ? "at most " : " and at most ") + number_text(*field.maximum);
  log.errors.push_back(invalid_argument(path, number_text(value) + " is out of range", "must be " + rule));
  return false;
}

Json schema_of_field(const FieldInfo& field) {
  Json out = {{"type", field.type}};
  if (!field.help.empty()) out["description"] = field.help;
  if (!field.choices.empty() && field.type == "string") out["enum"] = field.choices;
  if (field.minimum) out[field.above_minimum ? "exclusiveMinimum" : "minimum"] = *field.minimum;
  if (field.maximum) out["maximum"] = *field.maximum;
  if (field.type == "array") {
    out["items"] = field.children.empty() ? Json{{"type", field.item_type}} : schema_of(field.children);
    if (!field.choices.empty()) out["items"]["enum"] = field.choices;
  }
  if (field.type == "object") {
    Json nested = schema_of(field.children);
    out["properties"] = nested["properties"];
    if (nested.contains("required")) out["required"] = nested["required"];
  }
  return out;
}

}  // namespace

Json schema_of(const std::vector<FieldInfo>& fields) {
  Json out = {{"type", "object"}, {"properties", Json::object()}};
  for (const auto& field : fields) {
    out["properties"][field.name] = schema_of_field(field);
    if (field.required) out["required"].push_back(field.name);
  }
  return out;
}

std::string markdown_of(const std::vector<FieldInfo>& fields) {
  std::string out = "| field | type | meaning |\n|---|---|---|\n";
  const std::function<void(const std::vector<FieldInfo>&, const std::string&)> rows =
      [&](const std::vector<FieldInfo>& list, const std::string& path) {
        for (const auto& f : list) {
          const std::string name = child(path, f.name);
          std::string type = f.type == "array" && !f.item_type.empty() ? "list of " + f.item_type : f.type;
          if (!f.choices.empty()) type += ": " + join(f.choices, ", ");
          out += "| `" + name + "`" + (f.required ? " (required)" : "") + " | " + type + " | " + f.help + " |\n";
          rows(f.children, name + (f.type == "array" ? "[]" : ""));
        }
      };
  rows(fields, "");
  return out;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, std::string& out) {
  if (!json.is_string()) return wrong_type(json, "a string", path, log);
  std::string value = json.get<std::string>();
  if (!field.choices.empty()) {
    for (const auto& choice : field.choices) {
      if (choice == value) return out = value, true;
    }
    const auto near = nearest(value, field.choices);
    log.errors.push_back(
        invalid_argument(path, "\"" + quote_input(value, 60) + "\" is not allowed",
                         near ? "did you mean " + *near + "?" : "one of " + join(field.choices, ", ")));
    return false;
  }
  out = std::move(value);
  return true;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, long long& out) {
  if (!json.is_number()) return wrong_type(json, "an integer", path, log);
  const double value = json.get<double>();
  if (value != std::floor(value) || std::abs(value) > 9e15)
    return wrong_type(json, "a whole number below 9e15", path, log);
  if (!in_range(value, field, path, log)) return false;
  out = static_cast<long long>(value);
  return true;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, double& out) {
  if (!json.is_number()) return wrong_type(json, "a number", path, log);
  const double value = json.get<double>();
  if (!in_range(value, field, path, log)) return false;
  out = value;
  return true;
}

bool read_value(const Json& json, const FieldInfo&, const std::string& path, ReadLog& log, bool& out) {
  if (!json.is_boolean()) return wrong_type(json, "true or false", path, log);
  out = json.get<bool>();
  return true;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                std::vector<std::string>& out) {
  const std::size_t before = log.errors.size();
  std::vector<std::string> values;
  read_array(json, field, path, log, [&](const Json& item, const std::string& item_path) {
    read_value(item, field, item_path, log, values.emplace_back());
  });
  if (log.errors.size() != before) return false;
  out = std::move(values);
  return true;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                std::vector<double>& out) {
  const std::size_t before = log.errors.size();
  std::vector<double> values;
  read_array(json, field, path, log, [&](const Json& item, const std::string& item_path) {
    read_value(item, field, item_path, log, values.emplace_back());
  });
  if (log.errors.size() != before) return false;
  out = std::move(values);
  return true;
}

bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, RawJson& out) {
  if (field.type == "object" && !json.is_object()) return wrong_type(json, "an object", path, log);
  out.text = to_text(json);
  return true;
}

void read_object(const Json& json, const std::vector<FieldInfo>& fields, const std::string& path, ReadLog& log,
                 const std::function<void(std::size_t, const Json&, const std::string&)>& visit) {
  if (!json.is_object()) {
    log.errors.push_back(invalid_argument(path, "must be an object, not " + kind_of(json)));
    return;
  }
  std::vector<bool> seen(fields.size(), false);
  for (const auto& [key, value] : json.items()) {
    std::size_t i = 0;
    while (i < fields.size() && fields[i].name != key) ++i;
    if (i == fields.size()) {
      std::vector<std::string> names;
      for (const auto& field : fields) names.push_back(field.name);
      const auto near = nearest(key, names);
      log.unknown.push_back(child(path, quote_input(key, 60)) + (near ? " (did you mean " + *near + "?)" : ""));
      continue;
    }
    if (value.is_null()) continue;
    seen[i] = true;
    visit(i, value, child(path, key));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && !seen[i]) {
      log.errors.push_back(invalid_argument(child(path, fields[i].name), "is missing", fields[i].help));
    }
  }
}

void read_array(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                const std::function<void(const Json&, const std::string&)>& visit) {
  if (!json.is_array()) {
    wrong_type(json, "a list", path, log);
    return;
  }
  if (json.size() > field.max_items) {
    log.errors.push_back(invalid_argument(path, "has " + std::to_string(json.size()) + " entries",
                                          "at most " + std::to_string(field.max_items)));
    return;
  }
  std::size_t i = 0;
  for (const auto& item : json) visit(item, path + "[" + std::to_string(i++) + "]");
}

void write_value(Json& out, const std::string& key, const std::string& value) {
  out[key] = value;
}
void write_value(Json& out, const std::string& key, long long value) {
  out[key] = value;
}
void write_value(Json& out, const std::string& key, double value) {
  out[key] = std::isfinite(value) ? Json(value) : Json(nullptr);
}
void write_value(Json& out, const std::string& key, bool value) {
  out[key] = value;
}
void write_value(Json& out, const std::string& key, const std::vector<std::string>& value) {
  out[key] = value;
}
void write_value(Json& out, const std::string& key, const std::vector<double>& value) {
  out[key] = value;
}
void write_value(Json& out, const std::string& key, const RawJson& value) {
  out[key] = Json::parse(value.text, nullptr, false);
  if (out[key].is_discarded()) out[key] = nullptr;
}
void write_child(Json& out, const std::string& key, const std::function<void(Json&)>& fill) {
  Json child = Json::object();
  fill(child);
  out[key] = std::move(child);
}
void write_children(Json& out, const std::string& key, std::size_t count,
                    const std::function<void(std::size_t, Json&)>& fill) {
  Json list = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    Json child = Json::object();
    fill(i, child);
    list.push_back(std::move(child));
  }
  out[key] = std::move(list);
}

std::string field_type(const std::string*) {
  return "string";
}
std::string field_type(const long long*) {
  return "integer";
}
std::string field_type(const double*) {
  return "number";
}
std::string field_type(const bool*) {
  return "boolean";
}
std::string field_type(const RawJson*) {
  return "object";
}
std::string field_type(const std::vector<std::string>*) {
  return "array";
}
std::string field_type(const std::vector<double>*) {
  return "array";
}
std::string item_type(const void*) {
  return {};
}
std::string item_type(const std::vector<std::string>*) {
  return "string";
}
std::string item_type(const std::vector<double>*) {
  return "number";
}

}  // namespace fx
