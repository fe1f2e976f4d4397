#include "base/secret.h"

#include <gtest/gtest.h>

namespace fx {
namespace {

TEST(MaskSecrets, HidesTokensByShapeAndByName) {
  EXPECT_EQ(mask_secrets("export HF_TOKEN=hf_abcdefghijklmnopqrstuvwx\n"), "export HF_TOKEN=[secret]\n");
  EXPECT_EQ(mask_secrets("wandb_api_key: \"0123456789abcdef0123\""), "wandb_api_key: \"[secret]\"");
  EXPECT_EQ(mask_secrets("login --hub_token abcdef123456 now"), "login --hub_token [secret] now");
  EXPECT_EQ(mask_secrets("git clone https://me:s3cretpw@host/x"), "git clone https://me:[secret]@host/x");
}

TEST(MaskSecrets, LeavesReferencesAndOrdinaryTextAlone) {
  for (const char* text :
       {"export WANDB_API_KEY=$WANDB_API_KEY", "export HF_TOKEN=\"${HF_TOKEN:?set it}\"", "api_key: ...",
        "tokenizer: gpt2", "max_tokens_per_gpu=8192", "token_type_ids: [0, 1]", "https://huggingface.co/docs",
        "password: <your password>", "enable_hf_state_dict_adapter: true", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "/root/.cache/huggingface/token: ~/.cache/huggingface/token",
        "git checkout 0123456789abcdef0123456789abcdef01234567"}) {
    EXPECT_EQ(mask_secrets(text), text);
  }
}

TEST(MaskSecrets, HidesWandbKeysWithoutAKeyName) {
  EXPECT_EQ(mask_secrets("wandb login 0123456789abcdef0123456789abcdef01234567\n"), "wandb login [secret]\n");
}

TEST(MaskSecrets, ReadsARunOfPrefixesOnce) {
  std::string text;
  while (text.size() < (1u << 20)) text += "hf_sk-";
  EXPECT_LE(find_secrets(text).size(), 2u);
}

}  // namespace
}  // namespace fx
