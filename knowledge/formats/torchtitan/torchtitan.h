// torchtitan settings from its TOML, its command line or a Python config: one way to ask for section and key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

class TitanView {
 public:
  explicit TitanView(const Input& input);

  const Node* get(const std::string& section, const std::string& key) const;
  // Every place that sets it; more than one only in a Python config.
  std::vector<const Node*> all(const std::string& section, const std::string& key) const;
  const Node* parallel(const std::string& key) const { return get("parallelism", key); }
  const Node* degree(const std::string& axis) const { return parallel(axis + "_degree"); }
  long long size(const std::string& axis) const;  // "tensor_parallel" -> its degree, the default when absent
  std::optional<long long> world() const { return world_; }
  // data_parallel_shard with -1 filled in; nullopt when the world is unknown or does not divide.
  std::optional<long long> shard() const;
  bool model_compiled() const;  // compile.enable with "model" among the components
  const Launch* launch() const { return launch_; }

 private:
  const Input& input_;
  const Launch* launch_ = nullptr;
  std::optional<long long> world_;
};

struct TitanSection {
  std::string_view name;
  bool complete;  // false: other keys may exist that we do not list
  std::vector<std::string> keys;
};
const std::vector<TitanSection>& titan_sections();
struct TitanMoved {
  std::string_view from, to;
};
const std::vector<TitanMoved>& titan_moved();

// The settings of a Python config: one mapping for each place that sets some, named for its section. A section may come
// several times. Values that only running code knows stay as their text, a string without quotes.
Document read_titan_python(std::string_view text);

}  // namespace fx::knowledge
