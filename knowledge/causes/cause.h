// A cause is a value: id, marks to look for, and a predicate that weighs the evidence. Its words are on its page
// <id>.md.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/log/scene.h"

namespace fx::knowledge {

// What a predicate found. score 0: this cause does not fit.
struct Claim {
  double score = 0;
  std::vector<int> lines;  // indices into the book, most telling first
  std::optional<int> root_rank;
  std::string summary;  // one sentence with the log's own figures; empty: the page's first sentence

  Claim& show(const Hits& hits, std::size_t limit = 3);
  Claim& show(int line);  // ignores -1
  Claim& root(std::optional<int> rank) { return root_rank = rank, *this; }
  Claim& say(std::string text) { return summary = std::move(text), *this; }
};

// The marks of one cause in one log.
class MarkView {
 public:
  MarkView(const LogBook& book, std::string_view group) : book_(book), group_(group) {}
  const Hits& operator()(std::string_view name) const { return book_.find(group_, name); }

 private:
  const LogBook& book_;
  std::string_view group_;
};

struct CauseRule {
  std::string id;
  std::vector<Mark> marks;
  std::function<Claim(const Scene& scene, const MarkView& marks)> evaluate;
};

// A claim of the given strength with the first lines of hits as evidence.
Claim claim(double score, const Hits& hits, std::size_t limit = 4);

}  // namespace fx::knowledge
