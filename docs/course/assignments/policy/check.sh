# Usage: sh check.sh SCRIPT: mean completion against Fair's on three workloads.
set -eu
for seed in 11 12 13; do
  millrace sim run --trace gen:fb-2010:120 --load 0.95 --nodes 20 --racks 2 --seed $seed --policy "fair,$1" --json | python3 -c '
import json, sys
runs = json.load(sys.stdin)["policies"]
fair = runs.pop("fair")["mean_completion_s"]
mine = next(iter(runs.values()))["mean_completion_s"]
print("%.0f s, Fair %.0f s: %.2f" % (mine, fair, mine / fair))
sys.exit(mine > 0.9 * fair)'
done
echo right
