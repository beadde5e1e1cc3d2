#!/bin/sh
# compose.sh ARGS runs docker compose, or docker-compose where that is all there is.
if docker compose version >/dev/null 2>&1; then exec docker compose "$@"; fi
if command -v docker-compose >/dev/null; then exec docker-compose "$@"; fi
echo "neither 'docker compose' nor docker-compose is here: install Docker's compose plugin" >&2
exit 1
