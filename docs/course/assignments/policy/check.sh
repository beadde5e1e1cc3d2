# Usage: sh check.sh SCRIPT: mean completion against Fair's on three workloads.
set -eu
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cp "$1" "$dir/mine.star" # a script that is called fair.star is not Fair
mean() { tr -d '\n' < "$dir/run.json" | grep -o "\"$1\":{\"jobs\":[0-9]*,\"mean_completion_s\":[0-9.]*" | sed 's/.*://'; }
for seed in 11 12 13; do
  millrace sim run --trace gen:fb-2010:120 --load 0.95 --nodes 20 --racks 2 --seed $seed --policy "fair,$dir/mine.star" --json > "$dir/run.json"
  awk -v m="$(mean mine)" -v f="$(mean fair)" 'BEGIN {printf "%.0f s, Fair %.0f s: %.2f\n", m, f, m / f; exit !(m > 0 && m <= 0.9 * f)}'
done
echo right
