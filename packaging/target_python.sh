#!/usr/bin/env bash
# packaging/target_python.sh ARCH PYTHON FOLDER: FOLDER/python, a Python of Debian 12 for that processor, in QEMU, which has what modules of wheels need when
# their types are asked for, nanobind, its other half and NumPy, and auditwheel, which takes wheels of its own processor alone; by the hashes of
# packaging/requirements.txt. PYTHON has pip.
set -euo pipefail
python=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/target.sh"
set_target "$1"
recipe=$(cat "$here/target_python.sh" "$here/requirements.txt" | sha256sum)
if [ "$(cat "$folder/complete" 2>/dev/null)" = "$recipe" ]; then exit 0; fi
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
mirror=$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import mirrors; print(mirrors.debian())' "$here")
mmdebstrap --quiet --arch="$target_debian" --variant=extract --include=python3.11,libstdc++6 bookworm "$folder/root" "$mirror"
# As a requirement stands in requirements.txt: its line and those of its hashes.
wanted=$folder/requirements.txt
for name in nanobind nanobind-backend numpy auditwheel packaging pyelftools; do
  sed -n "/^$name==/,/[^\\\\]\$/p" "$here/requirements.txt"
done >"$wanted"
"$python" -m pip install -q --disable-pip-version-check --no-input --no-deps --require-hashes --only-binary=:all: --platform "manylinux_2_28_$arch" \
  --python-version 3.11 --implementation cp --abi cp311 --abi abi3 --abi none --target "$folder/packages" -r "$wanted"
cat >"$folder/python" <<TEXT
#!/bin/sh
export PYTHONPATH=$folder/packages
exec qemu-$arch-static -cpu max -L $folder/root $folder/root/usr/bin/python3.11 "\$@"
TEXT
chmod +x "$folder/python"
echo "$recipe" >"$folder/complete"
