#include "knowledge/code/scope.h"

#include <algorithm>

namespace fx::knowledge::code {

std::size_t Scope::place_of(std::string_view name) const {
  constexpr std::size_t kFew = 24;
  if (names_.size() <= kFew) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].first == name) return i;
    }
    return names_.size();
  }
  for (std::size_t i = places_.size(); i < names_.size(); ++i) places_.emplace(names_[i].first, i);
  const auto found = places_.find(name);
  return found == places_.end() ? names_.size() : found->second;
}

Object* Scope::find(std::string_view name) const {
  const std::size_t place = place_of(name);
  return place == names_.size() ? nullptr : names_[place].second;
}

void Scope::set(std::string_view name, Object* value) {
  const std::size_t place = place_of(name);
  if (place == names_.size()) names_.emplace_back(name, nullptr);
  if (asked_ > 0) log_.emplace_back(place, names_[place].second);
  names_[place].second = value;
}

std::vector<std::pair<std::string_view, Object*>> Scope::bound() const {
  std::vector<std::pair<std::string_view, Object*>> out;
  for (const auto& one : names_) {
    if (one.second != nullptr) out.push_back(one);
  }
  return out;
}

Changes::Changes(Scope& scope) : scope_(scope), from_(scope.log_.size()) {
  ++scope_.asked_;
}

Changes::~Changes() {
  if (--scope_.asked_ == 0) scope_.log_.clear();
}

std::vector<Changes::Change> Changes::all() const {
  if (scope_.log_.size() == from_) return {};
  // The first note of a place holds what was there before.
  std::vector<std::size_t> notes;
  notes.reserve(scope_.log_.size() - from_);
  for (std::size_t i = from_; i < scope_.log_.size(); ++i) notes.push_back(i);
  const auto place = [&](std::size_t note) { return scope_.log_[note].first; };
  std::ranges::sort(notes, {}, [&](std::size_t note) { return std::pair(place(note), note); });
  const auto same = [&](std::size_t one, std::size_t other) { return place(one) == place(other); };
  notes.erase(std::unique(notes.begin(), notes.end(), same), notes.end());
  std::vector<Change> out;
  for (const std::size_t note : notes) {
    const auto& [name, now] = scope_.names_[place(note)];
    out.push_back({place(note), name, scope_.log_[note].second, now});
  }
  return out;
}

std::vector<Changes::Change> Changes::undo() {
  std::vector<Change> changes = all();
  for (std::size_t i = scope_.log_.size(); i-- > from_;)
    scope_.names_[scope_.log_[i].first].second = scope_.log_[i].second;
  scope_.log_.resize(from_);
  return changes;
}

}  // namespace fx::knowledge::code
