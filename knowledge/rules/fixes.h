// Mechanical fixes: for each rule that has one, what to change. Rules without a row, and hits whose row gives nothing,
// keep their fix as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/edit/change.h"
#include "knowledge/rules/rule.h"

namespace fx::knowledge {

// What to change for one hit; empty: nothing mechanical here.
using Fixer = std::function<Changes(const Input&, const Hit&)>;
struct Fix {
  std::string_view rule;
  Fixer fixer;
};
using Fixes = std::vector<Fix>;

Fixes any_fixes();
Fixes accelerate_fixes();
Fixes axolotl_fixes();
Fixes deepspeed_fixes();
Fixes env_fixes();
Fixes launch_fixes();
Fixes llamafactory_fixes();
Fixes sbatch_fixes();
Fixes slime_fixes();
Fixes torchtitan_fixes();
Fixes torchtune_fixes();
Fixes trainer_fixes();
Fixes verl_fixes();

// The changes of a hit: its own, else its rule's row.
Changes changes_of(const Rule& rule, const Input& input, const Hit& hit);

// Rows that need no code.
Fixer remove_it();
Fixer set_it(std::string value);
Fixer rename_it(std::string name);
Fixer put_it(std::string path, std::string value);  // another setting, by its dotted path or flag name

// Their changes one by one, for rows that do.
Place place_of(const Hit& hit);
Changes remove_at(const Place& place);
Changes set_at(const Place& place, std::string value);
Changes rename_at(const Place& place, std::string name);
Changes put_near(const Place& place, std::string path, std::string value);

}  // namespace fx::knowledge
