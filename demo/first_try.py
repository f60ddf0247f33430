import tomllib
from collections import Counter

print("Reading inputs/Cargo.lock", flush=True)
with open("inputs/Cargo.lock", "rb") as handle:
    lock = tomllib.load(handle)

packages = lock.get("package", [])
print(f"Lock file format {lock.get('version', 1)}, {len(packages)} packages", flush=True)

print("Sorting the packages by where they come from", flush=True)
origins = Counter()
for package in packages:
    origins[package["source"]] += 1

for origin, count in origins.most_common():
    print(f"{count:6} {origin}")
