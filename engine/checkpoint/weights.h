// Weights between Hugging Face folders and shards: every rank reads and writes only the rows that it owns.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "engine/checkpoint/owned_rows.h"
#include "engine/files/hf_folder.h"

namespace fx::engine {

// Fills this rank's rows of the weights. Padding stays zero.
Result<void> load_weights(const HfFolder& folder, Groups& groups, Weights which = Weights::kAll);

// Collective. Rank 0 makes a staging folder beside output, the ranks of the first copy write their rows into it, and
// rank 0 moves its files into output, where other files stay. Every rank gets the error of any of them.
using SaveStep = std::function<Result<void>(const std::filesystem::path& staging)>;
Result<void> save_together(Mesh& mesh, const std::filesystem::path& output, const SaveStep& create,
                           const SaveStep& write);

// Collective. The model as an HF folder: each weight in its dtype in the source files, config and tokenizer files
// copied.
Result<void> save_model(const HfFolder& source, Groups& groups, Mesh& mesh, const std::filesystem::path& output);

// Collective: the same outcome on every rank. An error of one rank becomes an error on all, naming the rank.
Result<void> agree(Collectives& comm, const std::string& what, const Result<void>& mine);

}  // namespace fx::engine
