#!/bin/sh
# Every greeting is one line that begins with a capital and has a place for the name.
set -eu
cd "$(dirname "$0")"
failed=0
for file in greetings/*.txt; do
    grep -Eqx '[A-Z][a-z]+, %s!' "$file" || { echo "FAIL $file: not of the form 'Word, %s!'"; failed=1; }
done
exit "$failed"
