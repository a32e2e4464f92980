"""Where this machine has Debian from: release builds and their tests take other releases from the same places."""
import os
import subprocess


def site_of(suite, variable):
    """The address from which apt has that suite, as http://HOST/debian; the environment's variable names another. Raises LookupError."""
    if named := os.environ.get(variable):
        return named
    shown = subprocess.run(["apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)"], capture_output=True, text=True, check=False).stdout
    for line in sorted(set(shown.splitlines())):
        release, _, site = line.partition(" ")
        if release == suite and site:
            return site
    raise LookupError(f"apt's sources have no {suite} of Debian 12; add it, or name a mirror in {variable}")


def debian():
    return site_of("bookworm", "OCTET_DEBIAN_MIRROR")


def debian_security():
    return site_of("bookworm-security", "OCTET_DEBIAN_SECURITY_MIRROR")
