#include "knowledge/formats/model_layers.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace fx::knowledge {
namespace {

const std::vector<ModelLayers>& table() {
  static const std::vector<ModelLayers> rows = {
      {"llama", "Llama", {"LlamaDecoderLayer"}},
      {"mistral", "Mistral", {"MistralDecoderLayer"}},
      {"mixtral", "Mixtral", {"MixtralDecoderLayer"}},
      {"qwen2", "Qwen2", {"Qwen2DecoderLayer"}},
      {"qwen2_moe", "Qwen2Moe", {"Qwen2MoeDecoderLayer"}},
      {"qwen3", "Qwen3", {"Qwen3DecoderLayer"}},
      {"qwen3_moe", "Qwen3Moe", {"Qwen3MoeDecoderLayer"}},
      {"qwen3_next", "Qwen3Next", {"Qwen3NextDecoderLayer"}},
      {"qwen2_vl", "Qwen2VL", {"Qwen2VLDecoderLayer", "Qwen2VLVisionBlock"}},
      {"qwen2_5_vl", "Qwen2_5_VL", {"Qwen2_5_VLDecoderLayer", "Qwen2_5_VLVisionBlock"}},
      {"qwen3_vl", "Qwen3VL", {"Qwen3VLTextDecoderLayer", "Qwen3VLVisionBlock"}},
      {"gemma", "Gemma", {"GemmaDecoderLayer"}},
      {"gemma2", "Gemma2", {"Gemma2DecoderLayer"}},
      {"gemma3_text", "Gemma3", {"Gemma3DecoderLayer"}},
      {"gemma3", "Gemma3", {"Gemma3DecoderLayer", "SiglipEncoderLayer"}},
      {"phi", "Phi", {"PhiDecoderLayer"}},
      {"phi3", "Phi3", {"Phi3DecoderLayer"}},
      {"falcon", "Falcon", {"FalconDecoderLayer"}},
      {"gpt2", "GPT2", {"GPT2Block"}},
      {"gpt_neo", "GPTNeo", {"GPTNeoBlock"}},
      {"gpt_neox", "GPTNeoX", {"GPTNeoXLayer"}},
      {"gptj", "GPTJ", {"GPTJBlock"}},
      {"gpt_bigcode", "GPTBigCode", {"GPTBigCodeBlock"}},
      {"gpt_oss", "GptOss", {"GptOssDecoderLayer"}},
      {"opt", "OPT", {"OPTDecoderLayer"}},
      {"bloom", "Bloom", {"BloomBlock"}},
      {"mpt", "Mpt", {"MptBlock"}},
      {"bert", "Bert", {"BertLayer"}},
      {"roberta", "Roberta", {"RobertaLayer"}},
      {"xlm-roberta", "XLMRoberta", {"XLMRobertaLayer"}},
      {"distilbert", "Distil", {"TransformerBlock"}},
      {"deberta-v2", "DebertaV2", {"DebertaV2Layer"}},
      {"t5", "T5", {"T5Block"}},
      {"bart", "Bart", {"BartDecoderLayer", "BartEncoderLayer"}},
      {"whisper", "Whisper", {"WhisperDecoderLayer", "WhisperEncoderLayer"}},
      {"deepseek_v2", "DeepseekV2", {"DeepseekV2DecoderLayer"}},
      {"deepseek_v3", "DeepseekV3", {"DeepseekV3DecoderLayer"}},
      {"olmo", "Olmo", {"OlmoDecoderLayer"}},
      {"olmo2", "Olmo2", {"Olmo2DecoderLayer"}},
      {"cohere", "Cohere", {"CohereDecoderLayer"}},
      {"cohere2", "Cohere2", {"Cohere2DecoderLayer"}},
      {"starcoder2", "Starcoder2", {"Starcoder2DecoderLayer"}},
      {"stablelm", "StableLm", {"StableLmDecoderLayer"}},
      {"granite", "Granite", {"GraniteDecoderLayer"}},
      {"smollm3", "SmolLM3", {"SmolLM3DecoderLayer"}},
      {"glm", "Glm", {"GlmDecoderLayer"}},
      {"glm4", "Glm4", {"Glm4DecoderLayer"}},
      {"llama4_text", "Llama4", {"Llama4TextDecoderLayer"}},
      {"llama4", "Llama4", {"Llama4TextDecoderLayer", "Llama4VisionEncoderLayer"}},
      {"mllama",
       "Mllama",
       {"MllamaSelfAttentionDecoderLayer", "MllamaCrossAttentionDecoderLayer", "MllamaVisionEncoderLayer"}},
      {"seed_oss", "SeedOss", {"SeedOssDecoderLayer"}},
      {"qwen3_vl_moe", "Qwen3VLMoe", {"Qwen3VLMoeTextDecoderLayer", "Qwen3VLMoeVisionBlock"}},
      {"gemma3n_text", "Gemma3n", {"Gemma3nTextDecoderLayer"}},
      {"glm4_moe", "Glm4Moe", {"Glm4MoeDecoderLayer"}},
      {"olmo3", "Olmo3", {"Olmo3DecoderLayer"}},
      {"olmoe", "Olmoe", {"OlmoeDecoderLayer"}},
      {"ernie4_5", "Ernie4_5", {"Ernie4_5DecoderLayer"}},
      {"lfm2", "Lfm2", {"Lfm2DecoderLayer"}},
      {"minimax", "MiniMax", {"MiniMaxDecoderLayer"}},
      {"ministral", "Ministral", {"MinistralDecoderLayer"}},
      {"phimoe", "Phimoe", {"PhimoeDecoderLayer"}},
      {"jamba", "Jamba", {"JambaAttentionDecoderLayer", "JambaMambaDecoderLayer"}},
      {"nemotron", "Nemotron", {"NemotronDecoderLayer"}},
      {"granitemoe", "GraniteMoe", {"GraniteMoeDecoderLayer"}},
      {"apertus", "Apertus", {"ApertusDecoderLayer"}},
      {"dbrx", "Dbrx", {"DbrxBlock"}},
      {"exaone4", "Exaone4", {"Exaone4DecoderLayer"}},
      {"falcon_h1", "FalconH1", {"FalconH1DecoderLayer"}},
      {"modernbert", "ModernBert", {"ModernBertEncoderLayer"}},
      {"electra", "Electra", {"ElectraLayer"}},
      {"mbart", "MBart", {"MBartDecoderLayer", "MBartEncoderLayer"}},
      {"dinov2", "Dinov2", {"Dinov2Layer"}},
      {"vit", "ViT", {"ViTLayer"}},
      {"clip", "CLIP", {"CLIPEncoderLayer"}},
  };
  return rows;
}

// Parts a family has besides its layers; with one of these behind the prefix a class is the model's own.
bool is_part(std::string_view rest) {
  static constexpr std::array<std::string_view, 16> parts = {
      "Attention", "SdpaAttention", "FlashAttention2", "MLP",     "RMSNorm", "RotaryEmbedding",
      "Model",     "ForCausalLM",   "Embeddings",      "Encoder", "Decoder", "SparseMoeBlock",
      "Experts",   "LayerNorm",     "PreTrainedModel", "MoE"};
  return std::find(parts.begin(), parts.end(), rest) != parts.end();
}

}  // namespace

const ModelLayers* layers_of(std::string_view model_type) {
  for (const auto& row : table()) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

const ModelLayers* layers_of_model(const Node& model) {
  if (const Node* type = model.find("model_type")) return layers_of(text_of(type));
  const Node* architectures = model.find("architectures");
  if (architectures == nullptr || !architectures->is_list() || architectures->children.empty()) return nullptr;
  const std::string name = text_of(&architectures->children.front());
  for (const auto& row : table()) {
    if (name.substr(0, row.prefix.size()) != row.prefix) continue;
    const std::string_view task = std::string_view(name).substr(row.prefix.size());
    if (task.substr(0, 3) == "For" || task == "LMHeadModel" || task == "Model") return &row;
  }
  return nullptr;
}

bool has_class(const ModelLayers& model, std::string_view name) {
  if (std::find(model.layers.begin(), model.layers.end(), name) != model.layers.end()) return true;
  if (name == "Embedding" || name == "Linear" || name == "LayerNorm") return true;
  return name.substr(0, model.prefix.size()) == model.prefix && is_part(name.substr(model.prefix.size()));
}

}  // namespace fx::knowledge
