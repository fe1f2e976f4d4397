#include "knowledge/store/terms.h"

#include <array>
#include <cstdint>

#include "base/text.h"

namespace fx::knowledge {
namespace {

// One code point of valid UTF-8; at moves on.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + length > text.size()) length = 1;
  std::uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(at + i) & 0x3fU);
  at += length;
  return code;
}

bool is_cjk(std::uint32_t code) {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff) ||
         (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
         (code >= 0x20000 && code <= 0x2ffff);
}

// ASCII for letters of Latin-1 and Latin Extended-A; "" when the code is no letter.
std::string_view fold_latin(std::uint32_t code) {
  static constexpr std::array<std::string_view, 64> kLatin1 = {
      "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",  //
      "d", "n", "o", "o", "o", "o", "o",  "",  "o", "u", "u", "u", "u", "y", "t", "ss",
      "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i",  //
      "d", "n", "o", "o", "o", "o", "o",  "",  "o", "u", "u", "u", "u", "y", "t", "y"};
  static constexpr std::string_view kExtendedA =
      "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuu"
      "uuuuwwyyyzzzzzzs";
  if (code >= 0xc0 && code <= 0xff) return kLatin1[code - 0xc0];
  if (code >= 0x100 && code <= 0x17f) return kExtendedA.substr(code - 0x100, 1);
  return "";
}

std::string encode(std::uint32_t code) {
  std::string out;
  if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
  }
  out += static_cast<char>(0x80 | (code & 0x3f));
  return out;
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_upper(c) || is_lower(c) || is_digit(c);
}
bool is_joint(char c) {
  return c == '_' || c == '-' || c == '.' || c == '/';
}

// "UpdateWeightFromTensor" -> update weight from tensor; "FSDP2" -> fsdp; "NCCLTimeout" -> nccl timeout.
std::vector<std::string> camel_parts(std::string_view word) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool after_lower = i > 0 && is_upper(c) && is_lower(word[i - 1]);
    const bool last_of_caps =
        i > 0 && is_upper(c) && is_upper(word[i - 1]) && i + 1 < word.size() && is_lower(word[i + 1]);
    const bool number = i > 0 && is_digit(c) != is_digit(word[i - 1]);
    if ((after_lower || last_of_caps || number) && !parts.back().empty()) parts.emplace_back();
    parts.back() += c;
  }
  for (auto& part : parts) part = to_lower(part);
  return parts;
}

// A run of word characters and single joints: the whole, each word, and the parts of mixed-case words.
void add_identifier(std::string_view run, std::vector<std::string>& out) {
  std::vector<std::string> words(1);
  for (const char c : run) {
    if (is_joint(c)) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.back().empty()) words.pop_back();
  if (words.empty()) return;
  if (words.size() > 1 && words.size() <= 8) {
    std::string whole;
    for (const auto& word : words) whole += to_lower(word);
    out.push_back(std::move(whole));
  }
  for (const auto& word : words) {
    out.push_back(to_lower(word));
    const auto parts = camel_parts(word);
    if (parts.size() < 2) continue;
    for (const auto& part : parts) {
      if (part.size() > 1 && !is_digit(part[0])) out.push_back(part);
    }
  }
}

void add_cjk(const std::vector<std::uint32_t>& run, std::vector<std::string>& out) {
  if (run.size() == 1) out.push_back(encode(run[0]));
  for (std::size_t i = 0; i + 1 < run.size(); ++i) out.push_back(encode(run[i]) + encode(run[i + 1]));
}

// Splits into runs: ASCII words with joints (case kept), and CJK runs.
class Splitter {
 public:
  explicit Splitter(std::vector<std::string>& out) : out_(out) {}
  void add(std::uint32_t code) {
    if (is_cjk(code)) {
      end_word();
      cjk_.push_back(code);
      return;
    }
    end_cjk();
    if (code < 0x80) {
      const char c = static_cast<char>(code);
      if (is_word(c) || (is_joint(c) && !word_.empty() && !is_joint(word_.back()))) {
        word_ += c;
      } else if (!(c == '_' && !word_.empty())) {
        end_word();
      }
      return;
    }
    const auto folded = fold_latin(code);
    if (folded.empty()) return end_word();
    word_ += folded;
  }
  void end() {
    end_word();
    end_cjk();
  }

 private:
  void end_word() {
    if (!word_.empty()) add_identifier(word_, out_);
    word_.clear();
  }
  void end_cjk() {
    if (!cjk_.empty()) add_cjk(cjk_, out_);
    cjk_.clear();
  }
  std::vector<std::string>& out_;
  std::string word_;
  std::vector<std::uint32_t> cjk_;
};

}  // namespace

std::vector<std::string> terms(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::vector<std::string> out;
  Splitter splitter(out);
  for (std::size_t at = 0; at < valid.size();) splitter.add(next_code_point(valid, at));
  splitter.end();
  return out;
}

std::string term_text(std::string_view text) {
  return join(terms(text), " ");
}

std::string fold_phrase(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string out = " ";
  for (std::size_t at = 0; at < valid.size();) {
    const std::uint32_t code = next_code_point(valid, at);
    std::string piece;
    if (is_cjk(code)) {
      piece = encode(code);
    } else if (code < 0x80) {
      if (is_word(static_cast<char>(code))) piece = to_lower(std::string(1, static_cast<char>(code)));
    } else {
      piece = fold_latin(code);
    }
    if (!piece.empty()) {
      out += piece;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

}  // namespace fx::knowledge
