// Size of adapters and of whole modules trained besides them.
#pragma once

#include <string>
#include <vector>

#include "knowledge/plan/setting.h"

namespace fx::knowledge::plan {

struct AdapterSize {
  double params_per_rank_unit = 0;  // parameters of the whole model for rank 1
  double input_width = 0;           // input widths of the adapted projections of one layer, summed
  double output_width = 0;          // and output widths
  double distinct_width = 0;        // widths of the distinct tensors that they read, the attention's output left out
  double modules = 0;               // adapted projections of one layer
  std::vector<std::string> assumed;
};

// targets: q, k, v, o, mlp, full module names ("model.layers.0.self_attn.q_proj" or "q_proj"), or all-linear; empty: q
// and v. A name that no family is known to use counts as a square projection of the hidden size, and is said in
// assumed.
AdapterSize adapter_size(const ModelShape& shape, const std::vector<std::string>& targets);
// Trains adapters of that size and rank instead of the weights.
void set_adapters(const AdapterSize& size, double rank, Setting& setting);
// Adapters of the usual rank on every linear layer.
void adapt_all_linear(const ModelShape& shape, Setting& setting);
// Parameters of embedding and output head among the names.
double saved_module_params(const ParamCount& count, const std::vector<std::string>& modules);

}  // namespace fx::knowledge::plan
