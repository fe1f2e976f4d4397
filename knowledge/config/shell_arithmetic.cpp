#include <cctype>

#include "base/text.h"
#include "knowledge/config/shell_lexer.h"

namespace fx::knowledge {
namespace {

class Calculator {
 public:
  explicit Calculator(std::string_view text) : text_(text) {}

  std::optional<long long> run() {
    const auto value = sum(0);
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<long long> sum(int depth) {
    auto left = product(depth);
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto right = product(depth);
      if (!right) return std::nullopt;
      left = bounded(plus ? static_cast<double>(*left) + static_cast<double>(*right)
                          : static_cast<double>(*left) - static_cast<double>(*right));
    }
    return left;
  }

  std::optional<long long> product(int depth) {
    auto left = atom(depth);
    while (left) {
      const char op = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (op == '\0') break;
      const auto right = atom(depth);
      if (!right || (op != '*' && *right == 0)) return std::nullopt;
      if (op == '*') {
        left = bounded(static_cast<double>(*left) * static_cast<double>(*right));
      } else {
        left = op == '/' ? *left / *right : *left % *right;
      }
    }
    return left;
  }

  std::optional<long long> atom(int depth) {
    if (depth > 32) return std::nullopt;
    if (take('(')) {
      const auto value = sum(depth + 1);
      return take(')') ? value : std::nullopt;
    }
    skip();
    std::size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) ++end;
    const auto value = to_integer(text_.substr(at_, end - at_));
    at_ = end;
    return value;
  }

  static std::optional<long long> bounded(double value) {
    if (value > 1e15 || value < -1e15) return std::nullopt;
    return static_cast<long long>(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<long long> evaluate_arithmetic(std::string_view expression) {
  return Calculator(expression).run();
}

std::optional<long long> ShellLexer::evaluate(const std::string& expression) const {
  std::string plain;
  for (std::size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    if (c == '$' || c == '{' || c == '}') {
      ++i;
      continue;
    }
    if (std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_') {
      plain += c;
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < expression.size() &&
           (std::isalnum(static_cast<unsigned char>(expression[end])) != 0 || expression[end] == '_')) {
      ++end;
    }
    const auto found = variables_.find(expression.substr(i, end - i));
    if (found == variables_.end() || !found->second.value.resolved()) return std::nullopt;
    plain += found->second.value.text;
    i = end;
  }
  return evaluate_arithmetic(plain);
}

}  // namespace fx::knowledge
