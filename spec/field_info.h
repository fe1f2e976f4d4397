// One field of a table: what the schema and the docs say about it, and type-checked readers of its values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "spec/json.h"

namespace fx {

// What the schema and the docs say about one field, and the checks its value must pass.
struct FieldInfo {
  std::string name;
  std::string help;
  std::string type;                        // string, integer, number, boolean, array, object
  std::string item_type;                   // for arrays of plain values
  std::vector<std::string> choices;        // allowed strings
  std::optional<double> minimum, maximum;  // inclusive
  bool above_minimum = false;              // minimum itself is excluded
  std::size_t max_items = 10000;           // for arrays
  bool required = false;
  bool open = false;                // an object whose keys are not listed here (HF config, free text maps)
  std::vector<FieldInfo> children;  // for objects and arrays of objects
};

Json schema_of(const std::vector<FieldInfo>& fields);           // {"type":"object","properties":...}
std::string markdown_of(const std::vector<FieldInfo>& fields);  // a table for the reference pages

// One reader run: collects every mistake, and the keys nobody knows.
struct ReadLog {
  std::vector<Error> errors;
  std::vector<std::string> unknown;  // full paths, each with the nearest known key if there is one
};

// Type-checked readers of single values; a mistake goes to the log with the path and the value's kind.
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, std::string& out);
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, long long& out);
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, double& out);
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, bool& out);
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                std::vector<std::string>& out);
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                std::vector<double>& out);
// Any JSON, kept as it is: stored as compact text so that structs need no JSON header.
struct RawJson {
  std::string text;
};
bool read_value(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log, RawJson& out);

// json must be an object; calls visit(key, value) for each known key with a non-null value, logs the missing ones.
void read_object(const Json& json, const std::vector<FieldInfo>& fields, const std::string& path, ReadLog& log,
                 const std::function<void(std::size_t index, const Json& value, const std::string& path)>& visit);
// Calls visit for each element; logs when json is not an array or is too long.
void read_array(const Json& json, const FieldInfo& field, const std::string& path, ReadLog& log,
                const std::function<void(const Json& value, const std::string& path)>& visit);

// Printers of single values: out becomes an object with the key set. A NaN or infinity becomes null.
void write_value(Json& out, const std::string& key, const std::string& value);
void write_value(Json& out, const std::string& key, long long value);
void write_value(Json& out, const std::string& key, double value);
void write_value(Json& out, const std::string& key, bool value);
void write_value(Json& out, const std::string& key, const std::vector<std::string>& value);
void write_value(Json& out, const std::string& key, const std::vector<double>& value);
void write_value(Json& out, const std::string& key, const RawJson& value);
void write_child(Json& out, const std::string& key, const std::function<void(Json& child)>& fill);
void write_children(Json& out, const std::string& key, std::size_t count,
                    const std::function<void(std::size_t index, Json& child)>& fill);

// A nested struct or an optional one: made to be read into, and held (or nullptr) to be printed.
template <class T>
T& made(T& value) {
  return value;
}
template <class T>
T& made(std::optional<T>& value) {
  return value.emplace();
}
template <class T>
const T* held(const T& value) {
  return &value;
}
template <class T>
const T* held(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

std::string field_type(const std::string*);
std::string field_type(const long long*);
std::string field_type(const double*);
std::string field_type(const bool*);
std::string field_type(const RawJson*);
std::string field_type(const std::vector<std::string>*);
std::string field_type(const std::vector<double>*);
std::string item_type(const void*);
std::string item_type(const std::vector<std::string>*);
std::string item_type(const std::vector<double>*);

}  // namespace fx
