#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""container.py: builds packaging/Containerfile by buildah over a Debian 13 root (tests/install/run.py makes it), builds an engine in the image as
its user, who can write nothing of it, and imports the Python module. Needs root, buildah and the wheels of ./dev wheel --release."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run as places

IMAGE, BASE = "localhost/octet-test", "localhost/octet-test-base"
STORE = ["--storage-driver", "vfs"]


def buildah(*command, **options):
    return places.run(["buildah", *STORE, *command], **options)


def main():
    if not shutil.which("buildah"):
        print("buildah is missing: apt-get install buildah", file=sys.stderr)
        return 1
    root = places.Debian("trixie").root
    with tempfile.TemporaryDirectory(prefix="octet-container-") as work:
        folder = pathlib.Path(work)
        store = STORE + ["--root", folder / "root", "--runroot", folder / "runroot"]
        STORE[:] = store
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        context = folder / "context"
        context.mkdir()
        for wheel in places.WHEELS.glob("octet_int8-*.whl"):
            shutil.copy(wheel, context)
        version = places.run(["chroot", root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
        places.run([sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", version, "-d", context,
                    "numpy", "nanobind-backend>=1.0,<2", "--no-deps"])
        base = buildah("from", "--signature-policy", folder / "policy.json", "scratch").strip()
        mounted = pathlib.Path(buildah("mount", base).strip())
        places.run(["sh", "-c", 'tar -C "$1" --exclude=./octet-install --exclude=./proc --exclude=./sys --exclude=./dev -c . | tar -C "$2" -x', "_", root, mounted])
        for name in ("proc", "sys", "dev", "tmp"):
            (mounted / name).mkdir(exist_ok=True)
        buildah("umount", base)
        buildah("commit", "-q", "--signature-policy", folder / "policy.json", base, BASE)
        buildah("bud", "-q", "--isolation", "chroot", "--signature-policy", folder / "policy.json", "--pull-never", "--build-arg", f"BASE={BASE}",
                "-t", IMAGE, "-f", places.ROOT / "packaging/Containerfile", context)
        image = buildah("from", "--signature-policy", folder / "policy.json", "--pull-never", IMAGE).strip()
        shutil.copytree(places.DIGITS, folder / "digits")
        out = folder / "out"
        out.mkdir(mode=0o777)
        out.chmod(0o777)
        said = buildah("run", "--isolation", "chroot", "-v", f"{folder / 'digits'}:/digits:ro", "-v", f"{out}:/out", image, "--",
                       "/opt/octet/bin/octet", "build", "/digits/digits.onnx", "-o", "/out/digits.octet", "--quiet")
        assert (out / "digits.octet").stat().st_size > 1000, said
        buildah("run", "--isolation", "chroot", image, "--", "/opt/octet/bin/python", "-c", "import octet; octet.cpu_isa()")
        user = buildah("run", "--isolation", "chroot", image, "--", "id", "-u").strip()
        assert user == "65534", user
        print(f"an image over Debian trixie builds and runs as user {user}: {buildah('run', '--isolation', 'chroot', image, '--', '/opt/octet/bin/octet', '--version').strip()}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
