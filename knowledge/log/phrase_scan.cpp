#include "knowledge/log/phrase_scan.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace fx::knowledge {
namespace {

struct Trie {
  std::size_t classes = 1;
  std::vector<std::int32_t> child;  // -1: none
  std::vector<std::vector<std::uint32_t>> accepted;

  std::size_t add_state() {
    child.insert(child.end(), classes, -1);
    accepted.emplace_back();
    return accepted.size() - 1;
  }
  std::int32_t& at(std::size_t state, std::size_t cls) { return child[state * classes + cls]; }
};

// Turns the trie into a complete automaton: every missing edge goes where the longest proper suffix would go.
void complete(Trie& trie) {
  std::vector<std::size_t> fail(trie.accepted.size(), 0);
  std::vector<std::size_t> queue;
  for (std::size_t c = 0; c < trie.classes; ++c) {
    auto& to = trie.at(0, c);
    if (to < 0) {
      to = 0;
    } else {
      queue.push_back(static_cast<std::size_t>(to));
    }
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::size_t state = queue[head];
    const auto& inherited = trie.accepted[fail[state]];
    trie.accepted[state].insert(trie.accepted[state].end(), inherited.begin(), inherited.end());
    for (std::size_t c = 0; c < trie.classes; ++c) {
      auto& to = trie.at(state, c);
      const auto fallback = trie.at(fail[state], c);
      if (to < 0) {
        to = fallback;
      } else {
        fail[static_cast<std::size_t>(to)] = static_cast<std::size_t>(fallback);
        queue.push_back(static_cast<std::size_t>(to));
      }
    }
  }
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

PhraseScanner::PhraseScanner(const std::vector<std::string>& phrases) {
  for (const auto& phrase : phrases) {
    for (const char c : phrase) {
      auto& cls = class_of_[static_cast<unsigned char>(c)];
      if (cls == 0) cls = static_cast<std::uint8_t>(classes_++);
    }
  }
  for (int c = 'A'; c <= 'Z'; ++c) {
    class_of_[static_cast<std::size_t>(c)] = class_of_[static_cast<unsigned char>(lower(static_cast<char>(c)))];
  }
  Trie trie;
  trie.classes = classes_;
  trie.add_state();
  for (std::size_t i = 0; i < phrases.size(); ++i) {
    std::size_t state = 0;
    for (const char c : phrases[i]) {
      const std::size_t cls = class_of_[static_cast<unsigned char>(c)];
      if (trie.at(state, cls) < 0) {
        const auto added = static_cast<std::int32_t>(trie.add_state());
        trie.at(state, cls) = added;
      }
      state = static_cast<std::size_t>(trie.at(state, cls));
    }
    if (state == 0) throw std::invalid_argument("an empty phrase");
    trie.accepted[state].push_back(static_cast<std::uint32_t>(i));
  }
  if (trie.accepted.size() > 65535) throw std::invalid_argument("too many phrases");
  complete(trie);

  std::vector<std::size_t> order(trie.accepted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t s) { return trie.accepted[s].empty(); });
  std::vector<std::uint16_t> renamed(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) renamed[order[i]] = static_cast<std::uint16_t>(i);
  next_.resize(order.size() * classes_);
  first_accepting_ = order.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t c = 0; c < classes_; ++c) {
      next_[i * classes_ + c] = renamed[static_cast<std::size_t>(trie.at(order[i], c))];
    }
    if (trie.accepted[order[i]].empty()) continue;
    first_accepting_ = std::min(first_accepting_, i);
    accepted_.push_back(std::move(trie.accepted[order[i]]));
  }
}

}  // namespace fx::knowledge
