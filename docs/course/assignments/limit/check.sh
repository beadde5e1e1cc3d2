# Usage: sh check.sh FILE: the makespan of its limit against that of all limits. Cluster and jobs are those of cluster.yaml, whatever the file has.
set -eu
here=$(dirname "$0")
mine=$(sed -n 's/#.*//; s/.*marp: *["'\'']\{0,1\}\([0-9.][0-9.]*\)["'\'']\{0,1\} *\(}.*\)\{0,1\}$/\1/p' "$1")
if [ "$(echo "$mine" | grep -c .)" != 1 ]; then echo "$1: write one limit, as in marp: \"0.5\""; exit 1; fi
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
for marp in "$mine" 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.6 0.8 1; do
  sed "s/marp: \"[0-9.]*\"/marp: \"$marp\"/" "$here/cluster.yaml" > "$dir/one.yaml"
  millrace sim run --file "$dir/one.yaml" --json > "$dir/run.json"
  echo "$(grep -o '"makespan_s":[0-9.]*' "$dir/run.json" | head -1 | cut -d : -f 2) $marp"
done > "$dir/all"
sed 1d "$dir/all"
sed 1d "$dir/all" | sort -n | head -1 | cat "$dir/all" - | awk 'NR == 1 {m = $1} {b = $1} END {print "yours: " m " s, best: " b " s"; exit !(m <= 1.05 * b)}'
echo right
