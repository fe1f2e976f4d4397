// A diagnosis for people: the answer first, then a timeline per rank.
#pragma once

#include <string>

#include "knowledge/log/scene.h"
#include "spec/diagnosis.h"

namespace fx::tools {

struct DiagnosisStyle {
  bool color = false;          // ANSI colours, for a terminal
  std::size_t max_ranks = 16;  // in the timeline; the root rank is always there
  std::size_t max_causes = 3;
};

// scene is the one the diagnosis was made from. All quoted log text is cleaned and masked.
std::string diagnosis_text(const Diagnosis& diagnosis, const knowledge::Scene& scene, const DiagnosisStyle& style = {});

}  // namespace fx::tools
