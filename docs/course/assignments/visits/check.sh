# Usage: sh check.sh DIRECTORY with mapper and reducer.
set -eu
here=$(dirname "$0"); of=$(cd "$1" && pwd)
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
sh "$here/log.sh" 5000 > "$dir/log"
millrace run streaming --local --mapper "$of/mapper" --reducer "$of/reducer" --input "$dir/log" --output "$dir/out" --progress none >/dev/null
cat "$dir"/out/part-* | sort > "$dir/got"
awk '{print $3 "\t" $2}' "$dir/log" | sort -u | cut -f 1 | uniq -c | awk '{print $2 "\t" $1}' | sort > "$dir/want"
cmp "$dir/got" "$dir/want" && echo "right: $(wc -l < "$dir/want") pages"
