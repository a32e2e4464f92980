#!/usr/bin/env python3
"""sbom.py NAME VERSION DEPENDENCIES.json OUT.json: a bill of materials (CycloneDX 1.5) of what was linked into a release."""
import hashlib
import importlib.metadata
import json
import sys
import uuid
from urllib.parse import quote


def package_url(entry):
    """Of a source package, or of the Debian package that it lay in."""
    name, *release = entry["source"].split()
    return f"pkg:deb/debian/{quote(name, safe='')}@{quote(entry['version'], safe=':')}" + ("?arch=source" if release else "")


def main(name, version, dependencies, out):
    with open(dependencies, encoding="utf-8") as file:
        entries = json.load(file)
    root = {"type": "library", "name": name, "version": version, "bom-ref": f"{name}@{version}",
            "licenses": [{"expression": "Apache-2.0"}], "purl": f"pkg:pypi/{name}@{version}"}
    components = [{"type": "library", "name": entry["name"], "version": entry["version"], "bom-ref": f"{entry['name']}@{entry['version']}",
                   "licenses": [{"expression": entry["license"]}],
                   "purl": package_url(entry),
                   "properties": [{"name": "octet:source", "value": entry["source"]}, {"name": "octet:linked", "value": "static"}]}
                  for entry in entries]
    nanobind = importlib.metadata.version("nanobind")
    components.append({"type": "library", "name": "nanobind", "version": nanobind, "bom-ref": f"nanobind@{nanobind}",
                       "licenses": [{"expression": "BSD-3-Clause"}], "purl": f"pkg:pypi/nanobind@{nanobind}",
                       "properties": [{"name": "octet:linked", "value": "headers"}]})
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": root}, "components": components,
           "dependencies": [{"ref": root["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}]}
    # The same contents have the same number.
    digest = hashlib.sha256(json.dumps(bom, sort_keys=True).encode()).digest()
    bom["serialNumber"] = f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"
    with open(out, "w", encoding="utf-8") as file:
        json.dump(bom, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
