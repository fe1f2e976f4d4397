#include "knowledge/content.h"

namespace fx::embedded {
std::span<const EmbeddedFile> facts();
std::span<const EmbeddedFile> rule_pages();
std::span<const EmbeddedFile> cause_pages();
std::span<const EmbeddedFile> code_rule_pages();
}  // namespace fx::embedded

namespace fx::knowledge {

Content embedded_content() {
  return {embedded::facts(), embedded::rule_pages(), embedded::cause_pages(), embedded::code_rule_pages()};
}

}  // namespace fx::knowledge
