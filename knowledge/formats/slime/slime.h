// A slime, miles or Relax command line, also when its flags stand in shell arrays.
#pragma once

#include "knowledge/formats/input.h"

namespace fx::knowledge {

struct SlimeView {
  Node flags;          // all program flags, underscores, shown as typed
  bool relax = false;  // relax.entrypoints.train
  bool miles = false;
  bool complete = false;  // a launch line was seen and every array in it is known

  const Node* flag(std::string_view name) const { return flags.find(name); }
  bool fsdp() const { return text_of(flag("train_backend")) == "fsdp"; }
};
SlimeView slime_view(const Input& input);

}  // namespace fx::knowledge
