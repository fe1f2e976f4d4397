// Tells an exception that only reports another one's end (a lost peer, a launcher's summary, a wrapper) from a fault of
// its own.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "knowledge/causes/cause.h"
#include "knowledge/log/scene.h"

namespace fx::knowledge {

// low: the exception's own line in lower case.
bool is_echo(std::string_view low);
// A line that refuses or fails, not one that only states a property ("uniform dtype bf16 in all units").
bool refuses(std::string_view low);
// Of this score, with the first three lines that refuse; 0 where none does.
Claim claim_of_refusals(const Scene& scene, const std::vector<int>& lines, double score);
// The lines that are no echo, of those given.
std::vector<int> without_echoes(const Scene& scene, const std::vector<int>& lines);

// A fault of its own (exception, GPU out of memory, killed process) on some rank before the given line: it explains why
// others waited there.
bool failed_before(const Scene& scene, int line);

// The only rank that raised a fault of its own while another one still spoke after it.
std::optional<int> lone_raiser(const Scene& scene);

// True when the run failed or stood still for good. Who interrupts a run that he finds slow, or says "stuck" of a
// number while steps go on, tells of neither.
bool stopped(const Scene& scene);

const std::vector<Mark>& echo_marks();
// kStore: the ranks found each other; kTraining: they exchanged gradients, too.
enum class Meeting { kStore, kTraining };
// True when the ranks had met after this line without a new start: what was complained about before was overcome.
bool met_after(const Scene& scene, int line, Meeting meeting);

}  // namespace fx::knowledge
