#include "base/secret.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace fx {
namespace {

bool is_token_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_value_char(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != '"' && c != '\'' && c != ',' && c != ';' && c != '`' &&
         c != ')' && c != '}' && c != ']' && c != '\\' && c != '&' && c != '|' && c != '#';
}

struct Prefix {
  std::string_view text;
  std::size_t min_rest;  // token characters that must follow
  std::string_view kind;
};
// Published token shapes of the services that training jobs talk to.
constexpr std::array kPrefixes = {
    Prefix{"hf_", 16, "Hugging Face token"},    Prefix{"sk-ant-", 16, "Anthropic key"},
    Prefix{"sk-proj-", 16, "OpenAI key"},       Prefix{"sk-", 20, "API key"},
    Prefix{"ghp_", 20, "GitHub token"},         Prefix{"gho_", 20, "GitHub token"},
    Prefix{"ghs_", 20, "GitHub token"},         Prefix{"github_pat_", 20, "GitHub token"},
    Prefix{"glpat-", 16, "GitLab token"},       Prefix{"AKIA", 16, "AWS access key id"},
    Prefix{"ASIA", 16, "AWS access key id"},    Prefix{"xoxb-", 16, "Slack token"},
    Prefix{"xoxp-", 16, "Slack token"},         Prefix{"AIza", 30, "Google API key"},
    Prefix{"nvapi-", 20, "NVIDIA API key"},     Prefix{"dckr_pat_", 16, "Docker token"},
    Prefix{"pypi-", 40, "PyPI token"},          Prefix{"wandb_v1_", 16, "Weights & Biases key"},
    Prefix{"eyJhbGciOi", 20, "JSON web token"}, Prefix{"npm_", 30, "npm token"},
};

// A token is drawn at random: "hf_state_dict_adapter_enabled" and "sk-your-api-key-goes-here" are words.
bool looks_random(std::string_view rest) {
  return std::any_of(rest.begin(), rest.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || std::isupper(c) != 0; });
}

void find_prefixed(std::string_view text, std::vector<SecretSpan>& out) {
  for (const Prefix& prefix : kPrefixes) {
    std::size_t end = 0;  // a run of token characters is looked at once
    for (auto at = text.find(prefix.text); at != std::string_view::npos; at = text.find(prefix.text, end)) {
      end = at + prefix.text.size();
      if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_')) continue;
      const bool dotted = prefix.text.substr(0, 3) == "eyJ";
      while (end < text.size() && (is_token_char(text[end]) || (dotted && text[end] == '.'))) ++end;
      const std::string_view rest = text.substr(at + prefix.text.size(), end - at - prefix.text.size());
      if (rest.size() >= prefix.min_rest && looks_random(rest)) out.push_back({at, end, std::string(prefix.kind)});
    }
  }
}

// A W&B key has no prefix: 40 hexadecimal digits on a line about wandb.
void find_wandb_keys(std::string_view text, std::vector<SecretSpan>& out) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    bool hex = true;
    for (; end < text.size() && is_token_char(text[end]); ++end) {
      hex = hex && std::isxdigit(static_cast<unsigned char>(text[end])) != 0;
    }
    if (hex && end - at == 40) {
      constexpr std::size_t kNear = 200;  // bytes in front of the key
      std::string_view before = text.substr(at > kNear ? at - kNear : 0, std::min(at, kNear));
      before.remove_prefix(before.rfind('\n') + 1);
      if (contains_ignoring_case(before, "wandb")) out.push_back({at, end, "Weights & Biases key"});
    }
    at = end + 1;
  }
}

// "scheme://user:password@host"
void find_url_passwords(std::string_view text, std::vector<SecretSpan>& out) {
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const std::size_t begin = at + 3;
    std::size_t end = begin;
    while (end < text.size() && is_value_char(text[end]) && text[end] != '/' && text[end] != '@') ++end;
    if (end >= text.size() || text[end] != '@') continue;
    const auto colon = text.substr(begin, end - begin).find(':');
    if (colon == std::string_view::npos) {
      if (end - begin >= 16) out.push_back({begin, end, "credential in a URL"});
      continue;
    }
    const std::size_t password = begin + colon + 1;
    if (password < end && text[password] != '$' && text[password] != '<' && text[password] != '*') {
      out.push_back({password, end, "password in a URL"});
    }
  }
}

bool is_reference(std::string_view value) {
  if (value.empty() || value.front() == '$' || value.front() == '<' || value.front() == '%' || value.front() == '{') {
    return true;
  }
  // The path of the file that holds it.
  if (value.front() == '/' || value.substr(0, 2) == "~/" || value.substr(0, 2) == "./") return true;
  if (value.find_first_not_of(".*xX-") == std::string_view::npos) return true;
  static const std::array words = {"none",   "null",    "true",   "false",       "your",       "changeme",
                                   "todo",   "env",     "secret", "placeholder", "os.environ", "os.getenv",
                                   "getenv", "[secret", "dummy",  "fake",        "example",    "empty",
                                   "insert", "replace", "my_",    "my-"};
  const std::string low = to_lower(value);
  const bool name = value.find_first_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  if (name && is_secret_key(value)) return true;  // the name of the variable that holds it
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return low.rfind(w, 0) == 0; });
}

// "key = value", "key: value", "--key value", "key=value" where the key's name says that the value is secret.
void find_assigned(std::string_view text, std::vector<SecretSpan>& out) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_token_char(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && (is_token_char(text[at]) || text[at] == '.')) ++at;
    const std::string_view key = text.substr(begin, at - begin);
    if (!is_secret_key(key)) continue;
    std::size_t value = at;
    while (value < text.size() && (text[value] == '"' || text[value] == '\'')) ++value;
    while (value < text.size() && (text[value] == ' ' || text[value] == '\t')) ++value;
    const bool flag = begin >= 2 && text.substr(begin - 2, 2) == "--" && value > at;
    const bool assigned = key.substr(0, 2) == "--" && value > at;
    if (value < text.size() && (text[value] == '=' || text[value] == ':')) {
      ++value;
    } else if (!flag && !assigned) {
      continue;
    }
    while (value < text.size() && (text[value] == ' ' || text[value] == '"' || text[value] == '\'')) ++value;
    if (starts_with_ignoring_case(text.substr(value), "bearer ")) value += 7;
    std::size_t end = value;
    while (end < text.size() && is_value_char(text[end])) ++end;
    if (end - value >= 6 && !is_reference(text.substr(value, end - value))) {
      out.push_back({value, end, "value of " + quote_input(key, 60)});
    }
    at = std::max(at, end);
  }
}

}  // namespace

bool is_secret_key(std::string_view key) {
  std::string name = to_lower(key);
  std::replace(name.begin(), name.end(), '-', '_');
  static const std::array endings = {"api_key",
                                     "apikey",
                                     "access_key",
                                     "secret_key",
                                     "secret",
                                     "password",
                                     "passwd",
                                     "auth_token",
                                     "hub_token",
                                     "hf_token",
                                     "credential",
                                     "private_key",
                                     "access_token",
                                     "bearer_token",
                                     "api_token",
                                     "secret_access_key",
                                     "authorization",
                                     "wandb_key",
                                     "hf_auth",
                                     "github_token",
                                     "token_secret",
                                     "huggingface_token",
                                     "hugging_face_token",
                                     "wandb_token",
                                     "gitlab_token",
                                     "session_token",
                                     "refresh_token",
                                     "passphrase"};
  if (name == "token" || name == "pwd") return true;
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view e) {
    return name.size() >= e.size() && name.compare(name.size() - e.size(), e.size(), e) == 0;
  });
}

std::vector<SecretSpan> find_secrets(std::string_view text) {
  std::vector<SecretSpan> all;
  find_prefixed(text, all);
  find_url_passwords(text, all);
  find_assigned(text, all);
  find_wandb_keys(text, all);
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
  std::vector<SecretSpan> out;
  for (auto& span : all) {
    if (!out.empty() && span.begin < out.back().end) {
      out.back().end = std::max(out.back().end, span.end);
    } else {
      out.push_back(std::move(span));
    }
  }
  return out;
}

std::string mask_secrets(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  for (const auto& span : find_secrets(text)) {
    out += text.substr(at, span.begin - at);
    out += "[secret]";
    at = span.end;
  }
  out += text.substr(at);
  return out;
}

}  // namespace fx
