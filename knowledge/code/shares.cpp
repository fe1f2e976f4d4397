#include "knowledge/code/shares.h"

#include <algorithm>

#include "base/text.h"

namespace fx::knowledge::code {
namespace {

bool is_equal_share(const Object* length) {
  length = main_of(length);
  if (length->has(kRank | kUneven) || contains(length->callee, "ceil")) return false;
  if (length->callee != "//" || length->made_by == nullptr) return length->callee != "-" && length->callee != "+";
  const std::string_view above = main_of(length->made_by->list.front().value)->callee;
  return above != "+" && above != "-";  // (rows + world - 1) // world rounds up
}

// The factor beside the rank in `rank * each`; nullptr: no such product.
const Argument* share_beside_rank(const Object* product) {
  product = main_of(product);
  if (product->callee != "*" || product->made_by == nullptr || product->made_by->list.size() != 2) return nullptr;
  const auto& factors = product->made_by->list;
  if (factors[0].value->has(kRank) == factors[1].value->has(kRank)) return nullptr;
  return factors[0].value->has(kRank) ? &factors[1] : &factors[0];
}

}  // namespace

bool is_cut_to_the_world(const Object* count) {
  count = main_of(count);
  if (count->made_by == nullptr || count->made_by->list.size() != 2) return false;
  const std::string_view sign = count->callee;
  return std::ranges::any_of(count->made_by->list, [&](const Argument& operand) {
    const Object* part = main_of(operand.value);
    return part->has(kWorld) && (sign == "*" || (sign == "-" && part->callee == "%"));
  });
}

bool cuts_equal_shares(const Object* start, const Object* stop) {
  const Argument* share = share_beside_rank(start);
  if (share == nullptr || !is_equal_share(share->value)) return false;
  const auto is_share = [&](const Argument& other) {
    return main_of(other.value) == main_of(share->value) || other.node.text() == share->node.text();
  };
  if (const Argument* other = share_beside_rank(stop)) return is_share(*other);
  const Object* sum = main_of(stop);
  return sum->callee == "+" && sum->made_by != nullptr && std::ranges::any_of(sum->made_by->list, is_share);
}

}  // namespace fx::knowledge::code
