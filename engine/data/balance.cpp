#include "engine/data/balance.h"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

namespace fx::engine {
namespace {

struct Part {
  std::int64_t sum = 0;
  std::vector<std::size_t> members;
};

// Of some of the weights, heaviest part first. Empty parts are not kept: there may be thousands.
struct Split {
  std::vector<Part> parts;
  std::int64_t spread = 0;  // heaviest less lightest of all parts
  std::size_t number = 0;   // tells equally uneven splits apart
};

struct LessUneven {
  bool operator()(const Split& a, const Split& b) const {
    return a.spread != b.spread ? a.spread < b.spread : a.number > b.number;
  }
};

void join(Split& into, Split& from, std::size_t count) {
  const std::size_t filled = into.parts.size();
  for (std::size_t i = 0; i < from.parts.size(); ++i) {
    Part& more = from.parts[i];
    const std::size_t partner = count - 1 - i;
    if (partner >= filled) {
      into.parts.push_back(std::move(more));
      continue;
    }
    Part& part = into.parts[partner];
    part.sum += more.sum;
    if (part.members.size() < more.members.size()) std::swap(part.members, more.members);
    part.members.insert(part.members.end(), more.members.begin(), more.members.end());
  }
  std::stable_sort(into.parts.begin(), into.parts.end(), [](const Part& a, const Part& b) { return a.sum > b.sum; });
  into.spread = into.parts.front().sum - (into.parts.size() == count ? into.parts.back().sum : 0);
}

}  // namespace

std::vector<std::vector<std::size_t>> balance(const std::vector<std::int64_t>& weights, std::size_t parts) {
  if (parts == 0) throw std::logic_error("balance: into no parts");
  std::vector<Split> heap;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    heap.push_back({{{weights[i], {i}}}, parts > 1 ? weights[i] : 0, i});
  }
  std::make_heap(heap.begin(), heap.end(), LessUneven{});
  while (heap.size() > 1) {
    std::pop_heap(heap.begin(), heap.end(), LessUneven{});
    Split first = std::move(heap.back());
    heap.pop_back();
    std::pop_heap(heap.begin(), heap.end(), LessUneven{});
    join(heap.back(), first, parts);
    std::push_heap(heap.begin(), heap.end(), LessUneven{});
  }
  std::vector<std::vector<std::size_t>> out(parts);
  for (std::size_t i = 0; !heap.empty() && i < heap[0].parts.size(); ++i) {
    out[i] = std::move(heap[0].parts[i].members);
    std::sort(out[i].begin(), out[i].end());
  }
  return out;
}

}  // namespace fx::engine
