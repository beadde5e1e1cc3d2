# Usage: sh check.sh FILE: its makespan against that of all limits.
set -eu
makespan() { millrace sim run --file "$1" --json | python3 -c 'import json, sys; print(next(iter(json.load(sys.stdin)["policies"].values()))["makespan_s"])'; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
for marp in 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.6 0.8 1; do
  sed "s/marp: \"[0-9.]*\"/marp: \"$marp\"/" "$1" > "$dir/one.yaml"
  echo "$(makespan "$dir/one.yaml") $marp"
done | tee "$dir/all"
best=$(sort -n "$dir/all" | head -1 | cut -d ' ' -f 1)
mine=$(makespan "$1")
echo "yours: $mine s, best: $best s"
awk -v m="$mine" -v b="$best" 'BEGIN {exit !(m <= 1.05 * b)}' && echo right
