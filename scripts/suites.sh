# shellcheck shell=bash
# Suites of tests and their sum. Source it after lib.sh: it makes a directory that is gone at the end.

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
passed=0
failed=0
summary=()
broken=0

# suite NAME COUNTER COMMAND...: runs it, shows what it prints, and adds up what it counted.
suite() {
    local name=$1 counter=$2 log status=0 counts ok bad note=''
    shift 2
    log="$logs/log"
    say "$name: $*"
    "$@" </dev/null 2>&1 | tee "$log" || status=$?
    counts=$("$counter" <"$log")
    read -r ok bad <<<"$counts"
    passed=$((passed + ok))
    failed=$((failed + bad))
    [ "$((ok + bad))" -gt 0 ] || note=' (ran no test)'
    [ "$status" -eq 0 ] || note="$note (exit status $status)"
    [ -z "$note" ] || broken=1
    summary+=("$name: $ok passed, $bad failed$note")
}

plain() { sed 's/\x1b\[[0-9;]*m//g'; }

# "test result: ok. 12 passed; 0 failed; ..." for each test binary.
count_cargo() {
    plain | awk '
        /^test result:/ {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) ok += $i
                if ($(i + 1) ~ /^failed/) bad += $i
            }
        }
        END { print ok + 0, bad + 0 }'
}

# Vitest says "Tests  3 failed | 61 passed (64)", Playwright "5 passed", Node's own runner "# pass 5" or "ℹ pass 5".
count_npm() {
    plain | awk '
        $1 == "Tests" || (NF >= 2 && $1 ~ /^[0-9]+$/ && $2 ~ /^(passed|failed)$/) {
            for (i = 1; i < NF; i++) {
                if ($(i + 1) ~ /^passed/) ok += $i
                if ($(i + 1) ~ /^failed/) bad += $i
            }
        }
        ($1 == "#" || $1 == "ℹ") && NF == 3 && $2 == "pass" { ok += $3 }
        ($1 == "#" || $1 == "ℹ") && NF == 3 && $2 == "fail" { bad += $3 }
        END { print ok + 0, bad + 0 }'
}

# "Ran 22 tests in 0.9s" and then "OK" or "FAILED (failures=1, errors=2)".
count_unittest() {
    plain | awk '
        /^Ran [0-9]+ tests? in/ { ran += $2 }
        /^FAILED \(/ {
            n = split($0, parts, /[(,)]/)
            for (i = 1; i <= n; i++) if (split(parts[i], pair, "=") == 2 && pair[1] ~ /failures|errors/) bad += pair[2]
        }
        END { print ran - bad, bad + 0 }'
}

# Prints what each suite counted and, as the last line, the sum; false when a test failed or a suite ran none.
conclude() {
    say 'Suites'
    printf '%s\n' "${summary[@]}"
    printf '%s passed, %s failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ] && [ "$broken" -eq 0 ]
}
