#include "knowledge/rules/fixes.h"

#include <iterator>
#include <map>

namespace fx::knowledge {
namespace {

using Kind = Change::Kind;

const std::map<std::string_view, Fixer>& rows() {
  static const std::map<std::string_view, Fixer> all = [] {
    using List = Fixes (*)();
    static constexpr List lists[] = {any_fixes,   accelerate_fixes, axolotl_fixes,   deepspeed_fixes,
                                     env_fixes,   launch_fixes,     sbatch_fixes,    llamafactory_fixes,
                                     slime_fixes, torchtitan_fixes, torchtune_fixes, trainer_fixes,
                                     verl_fixes};
    std::map<std::string_view, Fixer> map;
    for (const List list : lists) {
      for (Fix& fix : list()) map.emplace(fix.rule, std::move(fix.fixer));
    }
    return map;
  }();
  return all;
}

}  // namespace

Changes changes_of(const Rule& rule, const Input& input, const Hit& hit) {
  if (!hit.changes.empty()) return hit.changes;
  const auto row = rows().find(rule.id);
  return row == rows().end() ? Changes{} : row->second(input, hit);
}

Place place_of(const Hit& hit) {
  return {hit.key, hit.line, hit.column};
}
Changes remove_at(const Place& place) {
  return {{Kind::kRemove, place, "", "", {}}};
}
Changes set_at(const Place& place, std::string value) {
  return {{Kind::kSet, place, "", std::move(value), {}}};
}
Changes rename_at(const Place& place, std::string name) {
  return {{Kind::kRename, place, std::move(name), "", {}}};
}
Changes put_near(const Place& place, std::string path, std::string value) {
  return {{Kind::kPut, place, std::move(path), std::move(value), {}}};
}

Fixer remove_it() {
  return [](const Input&, const Hit& hit) { return remove_at(place_of(hit)); };
}
Fixer set_it(std::string value) {
  return [value = std::move(value)](const Input&, const Hit& hit) { return set_at(place_of(hit), value); };
}
Fixer rename_it(std::string name) {
  return [name = std::move(name)](const Input&, const Hit& hit) { return rename_at(place_of(hit), name); };
}
Fixer put_it(std::string path, std::string value) {
  return [path = std::move(path), value = std::move(value)](const Input&, const Hit& hit) {
    return put_near(place_of(hit), path, value);
  };
}

}  // namespace fx::knowledge
