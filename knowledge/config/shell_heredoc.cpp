#include "base/text.h"
#include "knowledge/config/shell_lexer.h"

namespace fx::knowledge {

void ShellLexer::read_heredoc_start() {
  at_ += 2;
  const bool tabs = peek() == '-';
  if (tabs) ++at_;
  while (peek() == ' ' || peek() == '\t') ++at_;
  if (at_ >= source_->text.size() || peek() == '\n') return;
  Delimiter delimiter;
  delimiter.tabs = tabs;
  while (at_ < source_->text.size() && std::string_view(" \t\n;&|<>()").find(peek()) == std::string_view::npos) {
    const bool quote = peek() == '\'' || peek() == '"' || peek() == '\\';
    delimiter.literal = delimiter.literal || quote;
    if (!quote) delimiter.word += peek();
    ++at_;
  }
  heredocs_.push_back(std::move(delimiter));
}

void ShellLexer::read_heredoc_bodies(Frame& frame) {
  for (const Delimiter& delimiter : heredocs_) {
    Body body;
    body.literal = delimiter.literal;
    while (at_ < source_->text.size()) {
      const std::size_t end = std::min(source_->text.find('\n', at_), source_->text.size());
      std::size_t begin = at_;
      while (delimiter.tabs && begin < end && source_->text[begin] == '\t') ++begin;
      at_ = std::min(end + 1, source_->text.size());
      if (std::string_view(source_->text).substr(begin, end - begin) == delimiter.word) break;
      for (std::size_t i = begin; i < at_; ++i) {
        body.source.text += source_->text[i];
        body.source.offsets.push_back(source_->offsets[i]);
      }
    }
    frame.heredocs.push_back(std::move(body));
  }
  heredocs_.clear();
}

}  // namespace fx::knowledge
