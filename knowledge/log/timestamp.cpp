#include "knowledge/log/timestamp.h"

#include <array>
#include <cmath>

namespace fx::knowledge {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

// Walks over text; every reader leaves at_ where it was when it fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  std::size_t at() const { return at_; }
  bool number(std::size_t width, int& out) {
    if (at_ + width > text_.size()) return false;
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (!digit(text_[at_ + i])) return false;
      value = value * 10 + (text_[at_ + i] - '0');
    }
    at_ += width;
    out = value;
    return true;
  }
  bool one_of(std::string_view chars) {
    if (at_ >= text_.size() || chars.find(text_[at_]) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  double fraction() {
    if (!(at_ + 1 < text_.size() && (text_[at_] == '.' || text_[at_] == ',') && digit(text_[at_ + 1]))) return 0;
    ++at_;
    double value = 0, scale = 0.1;
    for (; at_ < text_.size() && digit(text_[at_]); ++at_, scale /= 10) value += scale * (text_[at_] - '0');
    return value;
  }
  // hh:mm:ss with a fraction, in seconds.
  bool clock(double& out) {
    const std::size_t start = at_;
    int h = 0, m = 0, s = 0;
    if (number(2, h) && one_of(":") && number(2, m) && one_of(":") && number(2, s)) {
      out = h * 3600 + m * 60 + s + fraction();
      one_of("Z");
      return true;
    }
    at_ = start;
    return false;
  }
  void back_to(std::size_t at) { at_ = at; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Days since 1970-01-01 (proleptic Gregorian); year 0 stands for an unknown year.
double days(int year, int month, int day) {
  if (year == 0) year = 1970;
  year -= month <= 2;
  const int era = year / 400;
  const int of_era = year - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097.0 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int month_of(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (text.substr(0, 3) == kMonths[i]) return static_cast<int>(i) + 1;
  }
  return 0;
}

}  // namespace

double seconds_between(const Timestamp& a, const Timestamp& b) {
  using Known = Timestamp::Known;
  if (a.known == Known::kTime || b.known == Known::kTime)
    return std::fmod(b.seconds, 86400) - std::fmod(a.seconds, 86400);
  if (a.known == Known::kYear && b.known == Known::kYear) return b.seconds - a.seconds;
  return b.in_year - a.in_year;
}

std::optional<Timestamp> read_timestamp(std::string_view text) {
  Cursor cursor(text);
  int a = 0, b = 0, c = 0;
  double clock = 0;
  using Known = Timestamp::Known;
  const auto done = [&](double day, Known known, double day_of_year = 0) {
    return Timestamp{day * 86400 + clock, cursor.at(), known, day_of_year * 86400 + clock};
  };
  if (cursor.number(4, a) && cursor.one_of("-/") && cursor.number(2, b) && cursor.one_of("-/") && cursor.number(2, c) &&
      cursor.one_of(" T_:") && cursor.clock(clock)) {
    return done(days(a, b, c), Known::kYear, days(0, b, c));
  }
  cursor.back_to(0);
  if (cursor.number(2, b) && cursor.one_of("/") && cursor.number(2, c) && cursor.one_of("/") && cursor.number(4, a) &&
      cursor.one_of(" ") && cursor.clock(clock)) {
    return done(days(a, b, c), Known::kYear, days(0, b, c));
  }
  cursor.back_to(0);
  if (cursor.number(2, b) && cursor.number(2, c) && cursor.one_of(" ") && cursor.clock(clock))
    return done(days(0, b, c), Known::kDay, days(0, b, c));
  cursor.back_to(0);
  if (cursor.number(1, b) && cursor.number(2, c) && cursor.one_of(" ") && cursor.clock(clock))
    return done(days(0, b, c), Known::kDay, days(0, b, c));
  cursor.back_to(0);
  if (cursor.number(2, b) && cursor.one_of("-") && cursor.number(2, c) && cursor.one_of(" ") && cursor.clock(clock)) {
    return done(days(0, b, c), Known::kDay, days(0, b, c));
  }
  cursor.back_to(0);
  if (cursor.clock(clock)) return done(0, Known::kTime);
  // dmesg -T puts the weekday in front.
  const std::size_t begin = month_of(text) == 0 && text.size() > 4 && text[3] == ' ' ? 4 : 0;
  const int month = month_of(text.substr(begin));
  if (month == 0 || text.size() < begin + 7) return std::nullopt;
  cursor.back_to(begin + 4);
  cursor.one_of(" ");
  const bool day = cursor.number(2, c) || cursor.number(1, c);
  if (day && cursor.one_of(" ") && cursor.clock(clock)) return done(days(0, month, c), Known::kDay, days(0, month, c));
  return std::nullopt;
}

}  // namespace fx::knowledge
