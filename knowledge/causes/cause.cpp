#include "knowledge/causes/cause.h"

#include <algorithm>

namespace fx::knowledge {

Claim& Claim::show(const Hits& hits, std::size_t limit) {
  for (std::size_t i = 0; i < hits.telling.size() && i < limit; ++i) show(hits.telling[i]);
  return *this;
}

Claim& Claim::show(int line) {
  if (line >= 0 && std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  return *this;
}

Claim claim(double score, const Hits& hits, std::size_t limit) {
  Claim out;
  out.score = score;
  out.show(hits, limit);
  return out;
}

}  // namespace fx::knowledge
