// What a mechanical fix does to a configuration, said in keys and values; the syntax of the text decides how it is
// written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/edit/splice.h"
#include "knowledge/formats/input.h"

namespace fx::knowledge {

// Where a key stands, as findings and nodes say it.
struct Place {
  std::string shown;  // dotted path, "--flag", variable, "#SBATCH --nodes"
  int line = 0, column = 0;
};
Place place_of(const Node& node);
Place place_of(const Assignment& assignment);

struct Change {
  enum class Kind {
    kRename,  // the key at `at` becomes `key`
    kSet,     // the value at `at` becomes `value`
    kRemove,  // the key at `at` and its value go
    kBeside,  // key: value is written after the entry at `at`
    kInside,  // key: value is written as the last entry of the mapping at `at`
    kPut,   // the setting with the dotted path `key` becomes `value`, wherever it stands; on a command line beside `at`
    kMove,  // the entry at `at` goes to the dotted path `key`, its value as it is written
    kLift,  // the flag or directive at `at` goes in front of the word or line at `to`
    kReplace  // the bytes of `span` become `value`
  };
  Kind kind = Kind::kRemove;
  Place at;
  std::string key, value;
  Span span;
  Place to = {};
};
using Changes = std::vector<Change>;

// Values are plain words: true, 2 and 0.8 are literals, [..] and {..} are written as they are, anything else is a
// string, quoted where the syntax wants it. nullopt: the text at one of the places is not understood well enough, or
// the change would not be one.
std::optional<Splices> splices_of(const Input& input, const Changes& changes);

// The keys and values that the changes speak about; nothing else may differ afterwards.
std::vector<std::string> touched(const Changes& changes);

// The node at a place of a structured text or among the flags of its launches; nullptr when there is none.
const Node* node_at(const Input& input, const Place& place);

}  // namespace fx::knowledge
