// What a processor can do: one row a product, each number with its unit in its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fx::knowledge::plan {

enum class Link { kNone, kPcie, kNvlink, kShared };  // kShared: ranks of one host exchange through memory

struct Gpu {
  std::string name;               // canonical: chip, memory, form factor
  std::vector<std::string> chip;  // words that must all be in the asked name
  double memory_gib = 0;          // what a program can use in all, driver reserve already taken off
  double nominal_gb = 0;          // the number in the product name
  std::vector<std::string> form;  // words that tell apart products of one chip: sxm, pcie, nvl, ...
  double peak_tflops = 0;         // dense bf16 (fp16 where there is no bf16)
  double gemm_tflops = 0;         // sustained in training: large matrices, real data, power limit
  double attention_tflops = 0;    // sustained by a fused attention kernel, counting causal work once
  double fp8_gain = 1;            // sustained fp8 GEMM over bf16 GEMM, casts not included
  double memory_gb_s = 0;         // device memory bandwidth
  Link link = Link::kPcie;
  double link_gb_s = 0;  // to the other GPUs of the node, one way, achieved by large collectives
  double pcie_gb_s = 0;  // to the host, one way
  double node_gb_s = 0;  // network into one node of 8, all cards together
  bool has_bf16 = true;
  std::string source;  // short key; sources are listed at the table
  double domain = 0;   // GPUs joined by the fast link beyond one machine; 0: the machine
};

const std::vector<Gpu>& gpu_table();
// Peak of products in fp32 that no tensor core rounds to TF32; 0: unknown.
double fp32_tflops(const Gpu& gpu);

// Finds the row for a name in any usual spelling ("NVIDIA A100-SXM4-80GB", "a100 80gb", "H100"): chip words first, then
// memory size, then form factor. Errors: kInvalidArgument at hardware.gpu with the nearest names.
Result<Gpu> find_gpu(std::string_view name);

}  // namespace fx::knowledge::plan
