// What a failed load of a state dict says: the sizes that differ and the names that differ. Shared by four causes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

struct SizeMismatch {
  int line = 0;
  std::string name;
  std::vector<long long> saved;   // shape in the checkpoint
  std::vector<long long> wanted;  // shape in the model
  bool embedding = false;         // an embedding or output head
  bool empty() const;             // the checkpoint holds nothing for it
  bool unheld() const;            // the checkpoint holds it, the model has no element of it here: it is partitioned
  bool flat() const { return saved.size() == 1 && saved.front() > 0 && wanted.size() >= 2; }  // a flattened shard
  double ratio() const;  // wanted elements / saved elements, 0 when empty
};

struct NameMismatch {
  std::vector<int> lines;         // "Missing key(s)", "Unexpected key(s)"
  std::set<std::string> missing;  // as printed
  std::set<std::string> unexpected;
  bool same_without_wrappers = false;  // equal once the wrapper prefixes are taken off
};

const std::vector<Mark>& state_dict_marks();
std::vector<SizeMismatch> read_size_mismatches(const LogBook& book);
NameMismatch read_name_mismatch(const LogBook& book);

}  // namespace fx::knowledge
