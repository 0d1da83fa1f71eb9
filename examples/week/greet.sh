#!/bin/sh
# greet.sh LANGUAGE NAME
set -eu
cd "$(dirname "$0")"
# shellcheck disable=SC2059 # the greeting is the format
printf "$(cat "greetings/${1:-en}.txt")\n" "${2:-world}"
