#include "spec/patch.h"

#include <nlohmann/json.hpp>

namespace fx {

Json to_json(const Patch& patch) {
  Json out = Json::array();
  for (const Edit& edit : patch) {
    out.push_back({{"start_line", edit.start_line},
                   {"start_column", edit.start_column},
                   {"end_line", edit.end_line},
                   {"end_column", edit.end_column},
                   {"replacement", edit.replacement}});
  }
  return out;
}

}  // namespace fx
