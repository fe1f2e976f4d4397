// Field tables: one table per struct gives its parser (all mistakes at once), printer, JSON Schema and
// documentation.
//
//   const Fields<Optimizer>& optimizer_fields();   // built once with add(...), returned by reference
//   Fields<Optimizer>{}.add("lr", &Optimizer::lr, "learning rate").min(0)
//
// The schema keeps to what every client accepts: no $ref, no unions, no type lists, enums are strings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "spec/field_info.h"

namespace fx {

template <class T>
class Fields {
 public:
  // A plain member (absent: keeps the struct's default).
  template <class M>
  Fields& add(std::string name, M T::*member, std::string help) {
    return push(
        std::move(name), std::move(help), static_cast<const M*>(nullptr),
        [member](const Json& j, const FieldInfo& f, const std::string& p, ReadLog& log, T& out) {
          read_value(j, f, p, log, out.*member);
        },
        [member](const T& in, const std::string& key, Json& out) { write_value(out, key, in.*member); });
  }
  // An optional member (absent or null: nullopt).
  template <class M>
  Fields& add(std::string name, std::optional<M> T::*member, std::string help) {
    return push(
        std::move(name), std::move(help), static_cast<const M*>(nullptr),
        [member](const Json& j, const FieldInfo& f, const std::string& p, ReadLog& log, T& out) {
          M value{};
          if (read_value(j, f, p, log, value)) out.*member = std::move(value);
        },
        [member](const T& in, const std::string& key, Json& out) {
          if (in.*member) write_value(out, key, *(in.*member));
        });
  }
  // A nested struct, or an optional one (absent or null: nullopt).
  template <class M, class N>
  Fields& add(std::string name, M T::*member, std::string help, const Fields<N>& nested) {
    entries_.push_back([member, &nested](const Json& j, const FieldInfo&, const std::string& p, ReadLog& log, T& out) {
      nested.read(j, p, log, made(out.*member));
    });
    writers_.push_back([member, &nested](const T& in, const std::string& key, Json& out) {
      const N* value = held(in.*member);
      if (value != nullptr) write_child(out, key, [&](Json& child) { nested.write(*value, child); });
    });
    return push_nested(std::move(name), std::move(help), "object", nested.infos());
  }
  // A list of nested structs.
  template <class M>
  Fields& add(std::string name, std::vector<M> T::*member, std::string help, const Fields<M>& nested) {
    entries_.push_back(
        [member, &nested](const Json& j, const FieldInfo& f, const std::string& p, ReadLog& log, T& out) {
          read_array(j, f, p, log, [&](const Json& item, const std::string& item_path) {
            nested.read(item, item_path, log, (out.*member).emplace_back());
          });
        });
    writers_.push_back([member, &nested](const T& in, const std::string& key, Json& out) {
      write_children(out, key, (in.*member).size(),
                     [&](std::size_t i, Json& child) { nested.write((in.*member)[i], child); });
    });
    return push_nested(std::move(name), std::move(help), "array", nested.infos());
  }

  // These change the field added last.
  Fields& min(double value) {
    return last([value](FieldInfo& f) { f.minimum = value; });
  }
  Fields& above(double value) {
    return last([value](FieldInfo& f) { f.minimum = value, f.above_minimum = true; });
  }
  Fields& max(double value) {
    return last([value](FieldInfo& f) { f.maximum = value; });
  }
  Fields& one_of(std::vector<std::string> choices) {
    return last([&](FieldInfo& f) { f.choices = std::move(choices); });
  }
  Fields& required() {
    return last([](FieldInfo& f) { f.required = true; });
  }
  Fields& open() {
    return last([](FieldInfo& f) { f.open = true; });
  }
  Fields& max_items(std::size_t count) {
    return last([count](FieldInfo& f) { f.max_items = count; });
  }

  const std::vector<FieldInfo>& infos() const { return infos_; }
  void read(const Json& json, const std::string& path, ReadLog& log, T& out) const {
    read_object(json, infos_, path, log, [&](std::size_t i, const Json& value, const std::string& value_path) {
      entries_[i](value, infos_[i], value_path, log, out);
    });
  }
  // The whole struct, or every mistake as one error.
  Result<T> parse(const Json& json, std::vector<std::string>* unknown = nullptr) const {
    T out{};
    ReadLog log;
    read(json, "", log, out);
    if (unknown != nullptr) *unknown = std::move(log.unknown);
    if (!log.errors.empty()) return combine(std::move(log.errors));
    return out;
  }

  // Prints a struct back: every field in table order, absent optional members left out.
  void write(const T& in, Json& out) const {
    for (std::size_t i = 0; i < writers_.size(); ++i) writers_[i](in, infos_[i].name, out);
  }

 private:
  using Writer = std::function<void(const T&, const std::string&, Json&)>;
  using Entry = std::function<void(const Json&, const FieldInfo&, const std::string&, ReadLog&, T&)>;
  template <class M>
  Fields& push(std::string name, std::string help, const M* tag, Entry entry, Writer writer) {
    FieldInfo field;
    field.name = std::move(name);
    field.help = std::move(help);
    field.type = field_type(tag);
    if constexpr (!std::is_same_v<M, RawJson>) field.item_type = item_type(tag);
    infos_.push_back(std::move(field));
    entries_.push_back(std::move(entry));
    writers_.push_back(std::move(writer));
    return *this;
  }
  Fields& push_nested(std::string name, std::string help, const char* type, std::vector<FieldInfo> children) {
    infos_.push_back(
        {std::move(name), std::move(help), type, {}, {}, {}, {}, false, 10000, false, false, std::move(children)});
    return *this;
  }
  template <class F>
  Fields& last(F change) {
    change(infos_.back());
    return *this;
  }
  std::vector<FieldInfo> infos_;
  std::vector<Entry> entries_;
  std::vector<Writer> writers_;
};

}  // namespace fx
