"""How the demo shows things: headings, a progress bar that also reads well in a log file, two columns."""
import shutil
import sys
import textwrap
import time


def heading(letter: str, text: str) -> None:
    print(f"\n({letter}) {text}", flush=True)


def show(text: str, indent: int = 4, width: int = 116) -> None:
    for line in str(text).splitlines() or [""]:
        print(textwrap.fill(line, width, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)), flush=True)


def duration(seconds) -> str:
    if seconds is None:
        return "?"
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """One line rewritten on a terminal; elsewhere a new line every few seconds."""

    def __init__(self):
        self.tty, self.last, self.shown = sys.stdout.isatty(), 0.0, None

    def update(self, status: dict, total: int) -> None:
        step = status.get("step") or 0
        key = (status["state"], step)
        if key == self.shown or (not self.tty and step not in (0, total) and time.time() - self.last < 10):
            return
        self.shown, self.last = key, time.time()
        peak = max((r.get("peak_bytes") or 0 for r in status.get("ranks", [])), default=0)
        filled = int(24 * step / max(total, 1))
        line = f"    [{'#' * filled}{'.' * (24 - filled)}] {status['state']} step {step}/{total}"
        if step:
            line += (f"  loss {status.get('loss', 0):.3f}  {status.get('tokens_per_s') or 0:.0f} tokens/s  "
                     f"ETA {duration(status.get('eta_s'))}  peak {peak / 2**30:.2f} GiB a rank")
        print(("\r" + line.ljust(shutil.get_terminal_size((110, 24)).columns - 1)) if self.tty else line,
              end="" if self.tty else "\n", flush=True)

    def close(self) -> None:
        if self.tty:
            print()


def side_by_side(left_title: str, left: str, right_title: str, right: str, width: int = 54) -> None:
    columns = [[title, "-" * width, *textwrap.wrap(text or "(nothing)", width)] for title, text in ((left_title, left), (right_title, right))]
    for i in range(max(map(len, columns))):
        print("    " + "  |  ".join((c[i] if i < len(c) else "").ljust(width) for c in columns))
