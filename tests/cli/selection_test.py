# SPDX-License-Identifier: Apache-2.0
"""octet bench --assert-selection: every kernel that accepts a layer runs, and all give one answer."""

import json
import unittest

import harness
from harness import digits, digits_engine, octet, scratch

# So far beyond what one kernel can lose against another in a layer of the digits that no busy machine reaches it.
FAR = "1000%"


class Selection(unittest.TestCase):
    def test_every_level_gives_one_answer(self):
        for level in ("none", "avx2", "avx_vnni", "vnni", "amx"):
            with self.subTest(level):
                said = octet("bench", digits_engine(), "--assert-selection", "--tolerance", FAR, "--json",
                             env={"OCTET_CPU_ISA": level}).json
                self.assertEqual((said["wrong"], said["different"]), (0, 0))
                self.assertEqual(said["tolerance"], float(FAR.rstrip("%")) / 100)
                layers = octet("inspect", digits_engine(), "--json", env={"OCTET_CPU_ISA": level}).json["layers"]
                planned = {layer["name"]: layer for layer in layers if layer["op"] != "Reorder"}
                self.assertEqual(len(said["layers"]) + said["single"], len(planned))
                for layer in said["layers"]:
                    names = [kernel["kernel"] for kernel in layer["kernels"]]
                    self.assertEqual(names[0], layer["chosen"])
                    self.assertEqual(planned[layer["name"]]["kernel"], layer["chosen"])
                    self.assertEqual(len(set(names)), len(names))
                    self.assertGreater(len(names), 1)
                    self.assertIn(layer["fastest"], names)
                    self.assertGreaterEqual(layer["ratio"], 1)

    def test_every_other_kernel_has_a_reason(self):
        layers = octet("inspect", digits_engine(), "--json").json["layers"]
        for layer in layers:
            self.assertTrue(all(": " in reason for reason in layer["rejected_kernels"]), layer)
        if octet("bench", digits_engine(), "--seconds", "0", "--json").json["isa"] == "amx":
            convolutions = [layer for layer in layers if layer["op"] == "QConv"]
            self.assertTrue(any("times as much as" in reason for layer in convolutions for reason in layer["rejected_kernels"]))
        self.assertIn("NOT TAKEN", octet("inspect", digits_engine(), "--wide").out)

    def test_text(self):
        out = octet("bench", digits_engine(), "--assert-selection", "--tolerance", FAR).out
        self.assertIn("choices wrong", out)

    def test_tolerance_is_a_share(self):
        octet("bench", digits_engine(), "--assert-selection", "--tolerance", "-1", code=2)


class Tuning(unittest.TestCase):
    def setUp(self):
        self.file = scratch() / "tuning.json"
        self.file.unlink(missing_ok=True)
        self.measured = octet("bench", digits_engine(), "--tune", self.file, "--json").json["layers"]
        self.choices = json.loads(self.file.read_text())
        self.image = sorted((digits() / "test").rglob("*.png"))[0]

    def write(self, change):
        """The file with `change(choice, names of the kernels that accept the layer)` applied to every choice."""
        names = {layer["signature"]: [kernel["kernel"] for kernel in layer["kernels"]] for layer in self.measured}
        for choice in self.choices["choices"]:
            change(choice, names[choice["layer"]])
        self.file.write_text(json.dumps(self.choices))

    def test_a_choice_for_every_layer(self):
        self.assertEqual({choice["layer"] for choice in self.choices["choices"]},
                         {layer["signature"] for layer in self.measured})
        for layer in octet("inspect", digits_engine(), "--tuning", self.file, "--json").json["layers"]:
            measured = layer["signature"] in {choice["layer"] for choice in self.choices["choices"]}
            self.assertEqual(layer["choice"], "by tuning" if measured else "")

    def test_choices_are_taken_and_change_no_bit(self):
        plain = octet("run", digits_engine(), self.image, "--json").json
        self.write(lambda choice, names: choice.update(kernel=names[-1]))
        wanted = {choice["layer"]: choice["kernel"] for choice in self.choices["choices"]}
        self.assertTrue(wanted or not self.measured)
        layers = octet("inspect", digits_engine(), "--tuning", self.file, "--json").json["layers"]
        for layer in layers:
            if layer["signature"] in wanted:
                self.assertEqual(layer["kernel"], wanted[layer["signature"]])
        tuned = octet("run", digits_engine(), self.image, "--json", "--tuning", self.file)
        self.assertEqual(tuned.json, plain)
        self.assertRegex(tuned.err, r"\Aphotos: [^\n]*\n\Z")
        if wanted:
            self.assertIn("by tuning", octet("bench", digits_engine(), "--layers", "--tuning", self.file).out)

    def test_a_device_of_any_kind_is_named(self):
        octet("bench", digits_engine(), "--tune", self.file, "--device", "test:1")
        read = octet("inspect", digits_engine(), "--tuning", self.file, "--device", "test:1", "--json").json
        levels = {choice["level"] for choice in json.loads(self.file.read_text())["choices"]}
        if self.measured:
            self.assertIn(octet("bench", digits_engine(), "--seconds", "0", "--json").json["isa"], levels)
        for layer in read["layers"]:
            self.assertNotIn("not offered", layer["choice"])

    def test_what_is_no_longer_offered_falls_back_and_says_so(self):
        if not self.measured:
            self.skipTest("scalar kernels have no competitors")
        plain = octet("inspect", digits_engine(), "--json").json["layers"]
        self.write(lambda choice, names: choice.update(kernel="retired"))
        said = octet("inspect", digits_engine(), "--json", "--tuning", self.file)
        self.assertEqual([layer["kernel"] for layer in said.json["layers"]], [layer["kernel"] for layer in plain])
        for command in (("inspect",), ("bench", "--seconds", "0"), ("run", self.image)):
            err = octet(command[0], digits_engine(), *command[1:], "--tuning", self.file).err
            self.assertIn("the tuned kernel retired is not offered", err)

    def test_other_machines_are_kept_and_not_followed(self):
        self.write(lambda choice, names: choice.update(chip="another", kernel=names[-1]))
        self.assertFalse(any(layer["choice"] == "by tuning" for layer in octet(
            "inspect", digits_engine(), "--tuning", self.file, "--json").json["layers"]))
        octet("bench", digits_engine(), "--tune", self.file)
        chips = [choice["chip"] for choice in json.loads(self.file.read_text())["choices"]]
        self.assertEqual(len(chips), 2 * len(self.choices["choices"]))

    def test_a_file_of_something_else_is_one_error(self):
        for text in ("", "{", "[]", '{"format":"octet-tuning","version":2,"choices":[{}]}', "\0" * 9):
            self.file.write_text(text)
            for flag in ("--tuning", "--tune"):
                err = octet("bench", digits_engine(), flag, self.file, code=2).err
                self.assertTrue(err.startswith("error: ") and str(self.file) in err, err)
            self.assertEqual(self.file.read_text(), text)

class OneLayer(unittest.TestCase):
    def test_every_layer_runs_alone_by_its_signature(self):
        layers = octet("inspect", digits_engine(), "--json").json["layers"]
        nodes = [layer for layer in layers if layer["op"] not in ("Reorder", "Copy")]
        self.assertTrue(nodes)
        for layer in nodes:
            with self.subTest(layer["name"]):
                said = octet("bench", "--layer", layer["signature"], "--json").json
                self.assertEqual(said["signature"], layer["signature"])
                self.assertEqual(said["op"], layer["op"])
                self.assertEqual(said["chosen"], layer["kernel"])
                self.assertTrue(all(kernel["same_result"] for kernel in said["kernels"]))
        times = octet("bench", digits_engine(), "--layers", "--json").json["layers"]
        self.assertEqual([layer["signature"] for layer in times], [layer["signature"] for layer in layers])

    def test_text(self):
        out = octet("bench", "--layer", "Relu(f32[1,8]) -> f32[1,8]").out
        self.assertIn("chosen", out)
        self.assertIn("Relu(f32[1,8]) -> f32[1,8]", out)

    def test_what_is_no_signature_is_one_error(self):
        for text in ("resnet", "Relu", "Relu(f32[2]) -> f32[3]", "Unheard(f32[2]) -> f32[2]", "Relu(f32[9999999999,9999999999])"):
            err = octet("bench", "--layer", text, code=2).err
            self.assertTrue(err.startswith("error: ") and "expected OPERATOR{attributes}(inputs) -> outputs" in err, err)
            self.assertEqual(err.count("error:"), 1)

    def test_it_takes_no_engine_and_the_rest_needs_one(self):
        octet("bench", digits_engine(), "--layer", "Relu(f32[1,8]) -> f32[1,8]", code=2)
        self.assertIn("ENGINE", octet("bench", code=2).err)


class Device(unittest.TestCase):
    def test_bench_says_what_ran(self):
        for flags in ((), ("--layers",), ("--assert-selection", "--tolerance", FAR), ("--streams", "1")):
            for device, isa in (("cpu", {"none", "avx2", "avx_vnni", "vnni", "amx"}), ("test:1", {"test"})):
                said = octet("bench", digits_engine(), "--seconds", "0", "--json", "--device", device, *flags).json
                self.assertEqual(said["device"], device)
                self.assertIn(said["isa"], isa)


if __name__ == "__main__":
    harness.main()
