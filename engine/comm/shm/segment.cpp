#include "engine/comm/shm/segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <sstream>
#include <utility>

namespace fx::engine::shm {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string reason() {
  return std::strerror(errno);
}

// The file's first bytes: proof that what was opened is rank 0's file and not another's of the same number.
std::string make_nonce() {
  std::random_device random;
  std::ostringstream out;
  out << std::hex << random() << random() << random() << random();
  return out.str();
}

// "PID FD NONCE" as rank 0 publishes it.
struct Address {
  long long process = 0;
  int fd = -1;
  std::string nonce;
};

std::string to_text(const Address& address) {
  return std::to_string(address.process) + " " + std::to_string(address.fd) + " " + address.nonce;
}

Address parse_address(const std::string& text) {
  Address address;
  std::istringstream(text) >> address.process >> address.fd >> address.nonce;
  return address;
}

std::byte* map(int fd, std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

int open_file(const Address& address) {
  return open(("/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.fd)).c_str(),
              O_RDWR | O_CLOEXEC);
}

constexpr const char* kYes = "yes ";
constexpr int kNoWatch = -1;  // this process, or a kernel without pidfd: the timeout alone tells
constexpr int kEnded = -2;

int watch_process(long long process) {
  if (process == getpid()) return kNoWatch;
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
  if (fd >= 0) return fd;
  return errno == ESRCH ? kEnded : kNoWatch;
}

}  // namespace

Result<Segment> Segment::meet(int rank, int size, std::size_t bytes, const KeyValue& store) {
  Segment segment;
  segment.bytes_ = bytes;
  std::string trouble;
  Address address;
  Descriptor file(rank == 0 ? memfd_create("fsdp-engine", MFD_CLOEXEC)
                            : open_file(address = parse_address(store.get("segment"))));
  if (file.get() < 0) trouble = (rank == 0 ? "memfd_create: " : "open rank 0's file: ") + reason();
  if (rank == 0 && trouble.empty() && ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    trouble = "ftruncate: " + reason();
  struct stat status {};
  if (trouble.empty() && (fstat(file.get(), &status) != 0 || status.st_size != static_cast<off_t>(bytes)))
    trouble = "rank 0's file has another size";
  if (trouble.empty() && (segment.data_ = map(file.get(), bytes)) == nullptr) trouble = "mmap: " + reason();
  if (rank == 0) {
    address = {getpid(), file.get(), make_nonce()};
    if (trouble.empty()) std::memcpy(segment.data_, address.nonce.c_str(), address.nonce.size() + 1);
    store.set("segment", to_text(address));
  } else if (trouble.empty() && std::memcmp(segment.data_, address.nonce.c_str(), address.nonce.size() + 1) != 0) {
    trouble = "the file opened is not rank 0's";
  }
  store.set("rank " + std::to_string(rank), trouble.empty() ? kYes + std::to_string(getpid()) : trouble);
  // Rank 0's descriptor stays open until everyone has answered.
  for (int r = 0; r < size; ++r) {
    const std::string answer = store.get("rank " + std::to_string(r));
    if (answer.compare(0, std::strlen(kYes), kYes) != 0)
      return unavailable("rank " + std::to_string(r) + " does not share memory with rank 0: " + answer);
    segment.processes_.push_back(std::stoll(answer.substr(std::strlen(kYes))));
  }
  for (const long long process : segment.processes_) segment.watches_.push_back(watch_process(process));
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      processes_(std::move(other.processes_)),
      watches_(std::exchange(other.watches_, {})) {}

Segment::~Segment() {
  if (data_ != nullptr) munmap(data_, bytes_);
  for (const int watch : watches_) {
    if (watch >= 0) close(watch);
  }
}

bool Segment::has_ended(int rank) const {
  const int watch = watches_[static_cast<std::size_t>(rank)];
  pollfd descriptor{watch, POLLIN, 0};
  return watch == kEnded || (watch >= 0 && poll(&descriptor, 1, 0) == 1);
}

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t seen, std::chrono::milliseconds time) {
  const timespec limit{time.count() / 1000, (time.count() % 1000) * 1000000};
  syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(&word), FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace fx::engine::shm
