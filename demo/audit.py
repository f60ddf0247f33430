import csv
import json
import re
import time
import tomllib
from collections import Counter, defaultdict
from html import escape
from pathlib import Path

FAMILIES_SHOWN = 10
DUPLICATES_SHOWN = 10
PAUSE_SECONDS = 0.3
BAR_WIDTH = 36

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
TERMINAL_COLOURS = [39, 45, 51, 50, 49, 48, 84, 120, 156, 192]
SVG_COLOURS = [
    "#4c6ef5", "#228be6", "#15aabf", "#12b886", "#40c057",
    "#82c91e", "#fab005", "#fd7e14", "#fa5252", "#be4bdb",
]


def say(text=""):
    print(text, flush=True)


def family_of(name):
    return re.split("[-_]", name, maxsplit=1)[0]


def version_key(version):
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"[.+-]", version)]


def read_packages(path):
    with open(path, "rb") as handle:
        return tomllib.load(handle).get("package", [])


def count_origins(packages):
    origins = Counter()
    for package in packages:
        # Members of the workspace have no source.
        kind = package.get("source", "member").split("+", 1)[0]
        origins["registry" if kind == "sparse" else kind] += 1
    return origins


def find_duplicates(packages):
    versions = defaultdict(set)
    for package in packages:
        versions[package["name"]].add(package["version"])
    several = [(name, sorted(found, key=version_key)) for name, found in versions.items() if len(found) > 1]
    return sorted(several, key=lambda entry: (-len(entry[1]), entry[0]))


def rank_families(packages):
    sizes = Counter(family_of(package["name"]) for package in packages)
    return sorted(sizes.items(), key=lambda entry: (-entry[1], entry[0]))


def draw_in_terminal(families):
    widest = max((len(name) for name, _ in families), default=0)
    largest = max((size for _, size in families), default=1)
    for rank, (name, size) in enumerate(families):
        colour = f"\x1b[38;5;{TERMINAL_COLOURS[rank % len(TERMINAL_COLOURS)]}m"
        bar = "█" * max(1, round(BAR_WIDTH * size / largest))
        say(f"  {name:>{widest}} {colour}{bar}{RESET} {BOLD}{size}{RESET}")
        time.sleep(PAUSE_SECONDS)


def svg_of(families, total):
    row, top, left, right = 34, 84, 150, 70
    width = 760
    height = top + row * max(1, len(families)) + 28
    largest = max((size for _, size in families), default=1)
    text = 'font-family="system-ui, sans-serif" fill="#868e96"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        "<title>The largest families of crates</title>",
        f'<text x="24" y="38" {text} font-size="20" font-weight="600">The largest families of crates</text>',
        f'<text x="24" y="60" {text} font-size="13">Cargo.lock, {total} packages in all</text>',
    ]
    for rank, (name, size) in enumerate(families):
        y = top + rank * row
        length = round((width - left - right) * size / largest, 1)
        colour = SVG_COLOURS[rank % len(SVG_COLOURS)]
        lines += [
            f'<text x="{left - 12}" y="{y + 16}" {text} font-size="14" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{left}" y="{y}" width="{length}" height="22" rx="5" fill="{colour}"/>',
            f'<text x="{left + length + 10}" y="{y + 16}" {text} font-size="14" font-weight="600">{size}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def write_outputs(families, duplicates, total):
    outputs = Path("outputs")
    outputs.mkdir(exist_ok=True)
    (outputs / "families.svg").write_text(svg_of(families, total), encoding="utf-8")
    with open(outputs / "duplicates.csv", "w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["name", "count", "versions"])
        rows.writerows([name, len(found), " ".join(found)] for name, found in duplicates)


def family_rows(families):
    rows = ["| Family | Packages |", "|---|---:|"]
    return rows + [f"| `{name}` | {size} |" for name, size in families]


def duplicate_rows(duplicates):
    if not duplicates:
        return ["No crate is present in more than one version."]
    rows = ["| Crate | Versions |", "|---|---|"]
    rows += [f"| `{name}` | {', '.join(found)} |" for name, found in duplicates[:DUPLICATES_SHOWN]]
    hidden = len(duplicates) - DUPLICATES_SHOWN
    return rows + ([f"| and {hidden} more | see the file |"] if hidden > 0 else [])


def advice(duplicates):
    if not duplicates:
        return "There is nothing to merge."
    name, found = duplicates[0]
    return f"Look at `{name}` first: it is present in {len(found)} versions."


def main():
    say(f"{BOLD}Reading inputs/Cargo.lock{RESET}")
    packages = read_packages("inputs/Cargo.lock")
    origins = count_origins(packages)
    for origin, count in sorted(origins.items()):
        say(f"  {origin:<10} {count}")
    time.sleep(PAUSE_SECONDS)

    duplicates = find_duplicates(packages)
    say(f"\n{BOLD}Crates in more than one version{RESET}: {len(duplicates)}")
    for name, found in duplicates[:5]:
        say(f"  {name} {DIM}{' '.join(found)}{RESET}")
        time.sleep(PAUSE_SECONDS / 2)

    ranking = rank_families(packages)
    families = ranking[:FAMILIES_SHOWN]
    say(f"\n{BOLD}The largest of {len(ranking)} families{RESET}")
    draw_in_terminal(families)

    write_outputs(families, duplicates, len(packages))
    say("\nWrote outputs/families.svg and outputs/duplicates.csv")
    result = {
        "packages": len(packages),
        "members": origins["member"],
        "registry": origins["registry"],
        "git": origins["git"],
        "families": len(ranking),
        "duplicates": len(duplicates),
        "familyRows": family_rows(families),
        "duplicateRows": duplicate_rows(duplicates),
        "advice": advice(duplicates),
    }
    say("AUDIT_RESULT " + json.dumps(result))


main()
