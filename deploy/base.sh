#!/bin/sh
# base.sh NAME prints the image that `make image BASE=NAME` puts the binary on, and makes it if it has to:
#   scratch  nothing: programs of one static binary run there, commands do not
#   shell    busybox in place of a system: commands and shell scripts run
#   python   a small Debian: programs that need its C library run, too, and so does python3
# Any other name is an image of your own, or of a registry, such as debian:stable-slim. shell and python are made of this
# machine's Debian packages, so that no registry is needed: apt-get for shell, root and debootstrap for python.
set -eu
name=${1:-scratch}
case $name in
shell | python) ;;
*) echo "$name" && exit ;;
esac
image=millrace-base:$name
if docker image inspect "$image" >/dev/null 2>&1; then echo "$image" && exit; fi
fail() { echo "base.sh: $*" >&2 && exit 1; }
command -v apt-get >/dev/null || fail "$image is made of Debian packages, and there is no apt-get here: give BASE=debian:stable-slim, or another image of a registry"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
root=$dir/root
echo "making $image of Debian packages" >&2
case $name in
shell)
  (cd "$dir" && apt-get download -qq busybox-static >/dev/null && dpkg-deb -x busybox-static_*.deb unpacked) || fail "apt-get download busybox-static failed (apt-get update?)"
  mkdir -p "$root/bin" "$root/etc" && cp "$dir"/unpacked/bin/busybox "$root/bin/busybox"
  for word in $("$root/bin/busybox" --list); do [ -e "$root/bin/$word" ] || ln -s busybox "$root/bin/$word"; done
  ln -s bin "$root/sbin" && mkdir -p "$root/usr" && ln -s ../bin "$root/usr/bin"
  ;;
python)
  command -v debootstrap >/dev/null || fail "apt-get install debootstrap first"
  # shellcheck disable=SC1091
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk -v s="$suite" '$2 == s { print $1; exit }')
  [ -n "$mirror" ] || fail "apt knows no mirror of $suite"
  debootstrap --variant=minbase --include=python3 "$suite" "$root" "$mirror" >"$dir/log" 2>&1 || { tail -5 "$dir/log" >&2 && fail "debootstrap $suite failed"; }
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/doc/* "$root"/usr/share/locale/*
  ;;
esac
printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
tar -C "$root" -c . | docker import -c 'ENV PATH=/usr/local/bin:/usr/bin:/bin' - "$image" >/dev/null
echo "$image"
