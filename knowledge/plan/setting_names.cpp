// Words of the argument vocabulary for each choice.
#include "knowledge/plan/resolve.h"

namespace fx::knowledge::plan {

std::string_view to_string(Sharding sharding) {
  switch (sharding) {
    case Sharding::kNone:
      return "none";
    case Sharding::kDdp:
      return "ddp";
    case Sharding::kZero1:
      return "zero1";
    case Sharding::kZero2:
      return "zero2";
    case Sharding::kZero3:
      return "zero3";
    case Sharding::kFsdp1:
      return "fsdp1";
    case Sharding::kFsdp2:
      return "fsdp2";
    case Sharding::kHsdp:
      return "hsdp";
    case Sharding::kMegatron:
      return "megatron-fsdp";
  }
  return "none";
}

std::string_view to_string(Checkpointing checkpointing) {
  switch (checkpointing) {
    case Checkpointing::kNone:
      return "none";
    case Checkpointing::kSelective:
      return "selective";
    case Checkpointing::kSelectiveLayer:
      return "selective-layer";
    case Checkpointing::kFull:
      return "full";
  }
  return "none";
}

std::string_view to_string(Attention attention) {
  switch (attention) {
    case Attention::kEager:
      return "eager";
    case Attention::kSdpa:
      return "sdpa";
    case Attention::kFlash:
      return "flash";
  }
  return "sdpa";
}

std::string_view to_string(Loss loss) {
  switch (loss) {
    case Loss::kStandard:
      return "standard";
    case Loss::kFused:
      return "fused";
    case Loss::kChunked:
      return "chunked";
    case Loss::kLiger:
      return "liger";
  }
  return "standard";
}

std::string_view to_string(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamw:
      return "adamw";
    case Optimizer::kAdamwFused:
      return "adamw-fused";
    case Optimizer::kAdamw8bit:
      return "adamw-8bit";
    case Optimizer::kPagedAdamw:
      return "paged-adamw";
    case Optimizer::kPagedAdamw8bit:
      return "paged-adamw-8bit";
    case Optimizer::kSgd:
      return "sgd";
    case Optimizer::kAdafactor:
      return "adafactor";
    case Optimizer::kLion:
      return "lion";
    case Optimizer::kMuon:
      return "muon";
  }
  return "adamw";
}

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kFull:
      return "full";
    case Method::kLora:
      return "lora";
    case Method::kQlora:
      return "qlora";
  }
  return "full";
}

}  // namespace fx::knowledge::plan
