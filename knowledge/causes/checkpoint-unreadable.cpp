#include <algorithm>

#include "base/text.h"
#include "knowledge/causes/cause.h"
#include "knowledge/log/field_reader.h"

namespace fx::knowledge {
namespace {

// Raised while a sample was read: the data are at fault, no checkpoint.
bool reads_sample(const Scene& s, int line) {
  if (matches_any("image file|dataloader worker|.jpg|.png|.tar|.parquet|.arrow|audio|video", s.book.at(line).low))
    return true;
  const auto* exception = s.exception_at(line);
  return exception != nullptr && std::any_of(exception->frames.begin(), exception->frames.end(), [&](int frame) {
           return matches_any(
               "__getitem__|collate|_worker_loop|read_image|image.open|decode|webdataset|dataset.py|"
               "arrow_dataset|pyarrow|data_loader_iter|dataloader.py",
               s.book.at(frame).low);
         });
}

// JSON files of a checkpoint that do not parse.
std::vector<int> broken_json(const Scene& s) {
  std::vector<int> out;
  for (const auto& exception : s.exceptions) {
    const bool saved = std::any_of(exception.frames.begin(), exception.frames.end(), [&](int frame) {
      return matches_any("trainer_state|load_from_json|index.json|load_checkpoint|read_metadata|resume_from",
                         s.book.at(frame).low);
    });
    if (saved && matches_any("jsondecodeerror", to_lower(exception.type))) out.push_back(exception.line);
  }
  return out;
}

// Deleting or renaming is no read.
bool moves_files(const Scene& s, const std::vector<int>& errors) {
  return std::all_of(errors.begin(), errors.end(), [&](int line) {
    const auto* exception = s.exception_at(line);
    for (const int close : {line - 1, line + 1}) {
      if (close >= 0 && close < static_cast<int>(s.book.lines.size()) &&
          matches_any("rmtree|_rotate|os.rename|os.replace", s.book.at(close).low))
        return true;
    }
    return exception != nullptr && std::any_of(exception->frames.begin(), exception->frames.end(), [&](int frame) {
             return matches_any("rmtree|rename|rotate|unlink|os.remove|os.replace", s.book.at(frame).low);
           });
  });
}

// A write that fails is another fault.
bool writes(const Scene& s, const std::vector<int>& errors) {
  return std::any_of(errors.begin(), errors.end(), [&](int line) {
    const auto* exception = s.exception_at(line);
    return exception != nullptr && !exception->frames.empty() && s.phase_at(line) == Phase::kSave;
  });
}

Claim evaluate(const Scene& s, const MarkView& m) {
  Claim out;
  const auto add = [&](const Hits& hits, double score) {
    for (const int line : hits.lines) {
      const auto& low = s.book.at(line).low;
      if (matches_any(
              "no space left|code: 28|storagefull|error while serializing|disk quota|' -> '|rename|rmtree|double free|corrupted size|watchdog|corrupted/incomplete|some "
              "nccl|huggingface.co/|ncclinternal|shm|git lfs install",
              low))
        continue;
      if (matches_any("$ |warning", low) && !matches_any("error", low)) continue;
      const auto named = integer_after(low, "world_size_");
      if (named && s.world > 0 && *named != s.world && matches_any("no such file", low)) continue;
      if (matches_any("parameters or buffers|keys that|missing key", low) || reads_sample(s, line)) continue;
      out.score = std::max(out.score, score);
      if (out.lines.size() < 4) out.show(line);
    }
  };
  add(m("format"), 0.94);
  for (const int line : broken_json(s)) out.score = std::max(out.score, 0.9), out.show(line);
  add(m("missing"), 0.88);
  if (out.score == 0) return out;
  std::vector<int> errors = out.lines;
  // Nobody raised and training goes on: the file was not needed, or its absence is a warning.
  const bool went_on =
      s.exceptions.empty() && s.exits.empty() &&
      std::any_of(s.steps.begin(), s.steps.end(), [&](const StepEvent& step) { return step.line > errors.back(); });
  if (went_on) out.score = 0.4;
  if (m("hub") && out.score < 0.9) out.score = 0.5;
  if (!m("format")) out.score = std::min(out.score, moves_files(s, errors) ? 0.3 : writes(s, errors) ? 0.4 : 1.0);
  for (const int line : m("listing").lines) {
    if (out.lines.size() < 8 && s.book.at(line).low.find("file \"") == std::string::npos) out.show(line);
  }
  errors.erase(std::remove_if(errors.begin(), errors.end(),
                              [&](int line) { return !matches_any("error|failed", s.book.at(line).low); }),
               errors.end());
  return out.root(s.book.ranks_of(errors).size() == 1 ? s.one_rank(errors) : std::nullopt);
}

}  // namespace

CauseRule checkpoint_unreadable() {
  return {
      "checkpoint-unreadable",
      {{"format",
        "index.json*expecting value|failed to read checkpoint|is empty (0 bytes)|safetensorerror|headertoolarge|metadataincompletebuffer|invalidheader"
        "|incomplete metadata|pytorchstreamreader failed|failed finding central directory"
        "|invalid load key|unpicklingerror|eoferror|ran out of input|file is truncated"
        "|unexpected eof|bad magic|file might be corrupted|corrupt*checkpoint|corrupted"
        "|not a zip file|badzipfile|invalid magic number"
        "|unable to load weights from pytorch checkpoint|git-lfs|error while deserializing"
        "|unexpected end of|checksum mismatch|crc mismatch|invalid json header"},
       {"missing",
        "no such file or directory*.metadata|no such file or directory*distcp"
        "|no such file or directory*checkpoint|no such file or directory*ckpt"
        "|no such file or directory*.safetensors|no such file or directory*.bin"
        "|no such file or directory*.pt|no such file or directory*shard|no file named"
        "|does not appear to have a file|error no file|checkpoint*does not exist"
        "|checkpoint*not found|is not a valid checkpoint|is not a distributed checkpoint|missing shard|filenotfounderror*model-"
        "|filenotfounderror*step|metadata*missing|no such file or directory*optim"
        "|cannot find*checkpoint|checkpoint is incomplete"},
       {"listing", "of-0000|.distcp|.metadata|ls -l|head -1|git-lfs"},
       {"hub", "huggingface.co|hf.co|couldn't connect|max retries"},
       {"rename", "->|rename|rmtree|tmp-checkpoint|staging"}},
      evaluate};
}

}  // namespace fx::knowledge
