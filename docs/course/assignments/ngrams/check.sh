# Usage: sh check.sh PACKAGE: builds it and compares what it counts with awk.
set -eu
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
go build -o "$dir/pairs" "$1"
millrace gen text --size 256KiB "$dir/in.txt"
"$dir/pairs" -local -input "$dir/in.txt" -output "$dir/out" -progress none >/dev/null
cat "$dir"/out/part-* | sort > "$dir/got"
awk '{for (i = 2; i <= NF; i++) n[$(i-1) " " $i]++} END {for (p in n) print p "\t" n[p]}' "$dir/in.txt" | sort > "$dir/want"
cmp "$dir/got" "$dir/want" && echo "right: $(wc -l < "$dir/want") pairs"
