# Usage: sh log.sh LINES
awk -v n="$1" 'BEGIN {s = 7; for (i = 0; i < n; i++) {s = (s * 1103 + 12345) % 65536; v = s % 211; s = (s * 1103 + 12345) % 65536; p = int(17 * (s / 65536) ^ 2); printf "%d user%d /page%d.html\n", i, v, p}}'
