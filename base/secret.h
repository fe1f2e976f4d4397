// Finds secrets (tokens, keys, passwords) in text from outside, so that nothing we return can echo them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fx {

struct SecretSpan {
  std::size_t begin = 0;  // byte offsets of the secret value itself
  std::size_t end = 0;
  std::string kind;  // "Hugging Face token", "password in a URL", ...
};

// Sorted, not overlapping. A reference ("$HF_TOKEN", "${X:?}", "...", "<your key>") is no secret.
std::vector<SecretSpan> find_secrets(std::string_view text);
// The text with every secret value replaced by "[secret]".
std::string mask_secrets(std::string_view text);
// True for key names whose value is a secret: HF_TOKEN, wandb_api_key, password, AWS_SECRET_ACCESS_KEY, ...
bool is_secret_key(std::string_view key);

}  // namespace fx
