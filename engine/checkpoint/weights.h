// Weights between Hugging Face folders and shards: every rank reads and writes only the rows that it owns.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "engine/checkpoint/owned_rows.h"
#include "engine/files/hf_folder.h"

namespace fx::engine {

// Fills the groups' master shards. Padding stays zero.
Result<void> load_weights(const HfFolder& folder, Groups& groups);

// Collective. Writes the model as an HF folder (weights in the dtype of the source files, config and tokenizer files
// copied) into a staging folder beside output and puts it in place when all ranks are done. With merge, files of output
// that are not the model's stay. Every rank gets the error of any of them.
Result<void> save_model(const HfFolder& source, Groups& groups, Mesh& mesh, const std::filesystem::path& output,
                        bool merge);

// Collective: the same outcome on every rank. An error of one rank becomes an error on all, naming the rank.
Result<void> agree(Collectives& comm, const std::string& what, const Result<void>& mine);

}  // namespace fx::engine
