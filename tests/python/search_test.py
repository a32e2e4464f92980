# SPDX-License-Identifier: Apache-2.0
"""octet.search: what a journal promises, steps that are measured apart, and what can be wrong."""

import unittest

import harness
import octet_module
from harness import scratch
from octet_module import MODEL, compiled, images


def setUpModule():
    global np, octet
    np, octet = harness.need("numpy"), octet_module.built()


def loss(got, truth, which):
    """Minus the greatest difference of a logit."""
    assert len(got) == len(truth) == len(which)
    return -max(float(np.abs(a["logits"] - b["logits"]).max()) for a, b in zip(got, truth))


class Searches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.samples, cls.seen = images("test", 40)[0], octet.Observer(MODEL).observe(images("calib")[0])
        plain = octet.search(MODEL, cls.samples, loss, calibration=cls.seen, min_value=-1e9, effort=1).found
        # What no trial of all INT8 keeps, so that layers leave it.
        cls.least = max(trial["value"] for trial in plain["trials"] if trial["int8"]) / 2

    def search(self, **options):
        return octet.search(MODEL, self.samples, loss, **{"calibration": self.seen, "min_value": self.least, "effort": 3, **options})

    def test_the_same_journal_gives_the_same_engine(self):
        journal = scratch() / "a.journal"
        result = self.search(journal=journal)
        self.assertTrue(result.found["met"] and result.found["verified"])
        self.assertGreater(len(result.found["real_layers"]), 0)
        lines = journal.read_text()
        again = self.search(journal=journal, threads=1, calibration=images("calib")[0])
        self.assertEqual((again.found, again.engine.to_bytes()), (result.found, result.engine.to_bytes()))
        self.assertEqual(journal.read_text(), lines)
        # A writer that was killed left a part of a line, which is no measurement. What it lacks is measured anew, times among it: the engine may be another,
        # and is that of the journal as it is then.
        journal.write_text(lines[: len(lines) // 2])
        half = self.search(journal=journal)
        self.assertTrue(half.found["met"] and half.found["verified"])
        self.assertEqual(self.search(journal=journal).engine.to_bytes(), half.engine.to_bytes())
        self.assertTrue(all(len(line.rsplit(" ", 1)) == 2 for line in journal.read_text().splitlines()))
        # Of another metric nothing is known.
        lines = journal.read_text()
        self.search(journal=journal, metric_key="another", effort=1, min_value=-1e9)
        self.assertGreater(len(journal.read_text()), len(lines))

    def test_steps_that_are_done_apart(self):
        """Several at a time by two of a kind, as machines do, for each kind of goal: the result is that of one search over what they recorded, and whatever
        both have measured is the same but for times."""
        from octet._journal import Journal
        from octet._search import SearchCall

        alone = scratch() / "alone.journal"
        size = len(compiled(calibration=self.seen).to_bytes())
        for goal in ((None, self.least, None, None), (None, None, None, int(1.3 * size)), (1e9, None, 1e9, None)):
            build = {"calibration": self.seen, "threads": 1}
            call = SearchCall(MODEL, self.samples, loss, "", goal, 3, build)
            known = Journal(None)
            driver, journals = call.native(known), [Journal(None), Journal(None)]
            machines, steps = [call.native(journal) for journal in journals], 0
            while lacking := driver.lacking(4):
                for step in reversed(lacking):  # what is guessed comes before what is sure
                    journals[steps % 2].values = dict(known.values)
                    machines[steps % 2].measure(step)
                    known.values.update(journals[steps % 2].values)
                    steps += 1
            self.assertGreater(steps, 10)
            measured = dict(known.values)
            engine, found = driver.run()
            self.assertEqual(known.values, measured)
            self.assertTrue(found["met"], found)
            drop, least, time, most = goal
            octet.search(MODEL, self.samples, loss, calibration=self.seen, max_drop=drop, min_value=least, max_ms=time, max_bytes=most, effort=3,
                         journal=alone)
            theirs = Journal(alone).values
            both = [key for key in measured.keys() & theirs.keys() if "_us" not in key]
            self.assertGreater(len(both), 20)
            self.assertEqual({key: measured[key] for key in both}, {key: theirs[key] for key in both})
            self.assertEqual(octet.Engine.from_bytes(engine.to_bytes()).outputs[0].name, "logits")
            del driver, machines  # their callbacks know this frame

    def least_work(self, **options):
        return self.search(min_value=-1e9, effort=1, **options)

    def test_options_of_every_kind_that_a_build_takes(self):
        tensor, layer = compiled(calibration=self.seen).report["ranges"][0]["tensor"], "/4/c2/Conv"
        expected = compiled(calibration=self.seen, ranges={tensor: 0.5}, keep_float=[layer]).to_bytes()
        for given in (0.5, np.float32(0.5), np.array(0.5), np.array([-0.5, 0.5]), iter((-0.5, 0.5))):
            found = self.least_work(ranges={tensor: given}, keep_float=iter([layer]), precision=iter(["int8"]), equalize=np.True_)
            self.assertEqual(found.engine.to_bytes(), expected, given)

    def test_the_cache_and_the_warnings_of_a_build(self):
        cache = scratch() / "search.cache"
        found = self.least_work(cache=cache, method="minmax")
        self.assertEqual(compiled(cache=cache).to_bytes(), found.engine.to_bytes())
        self.assertNotEqual(compiled(calibration=self.seen).to_bytes(), found.engine.to_bytes())
        data = np.zeros_like(self.samples)
        with self.assertWarns(UserWarning) as built:
            octet.compile(MODEL, calibration=data, constant_data=True)
        with self.assertWarns(UserWarning) as warned:
            self.least_work(calibration=data, constant_data=True)
        self.assertEqual((str(warned.warning), warned.filename), (str(built.warning), __file__))

    def test_what_is_wrong(self):
        def fails(got, truth, which):
            raise KeyError("of the user's own")

        with self.assertRaisesRegex(KeyError, "of the user's own"):
            octet.search(MODEL, self.samples, fails, calibration=self.seen, min_value=0)
        with self.assertRaises(TypeError):
            octet.search(MODEL, self.samples, lambda *_: "much", calibration=self.seen, min_value=0)
        with self.assertRaises(TypeError):
            self.search(callibration=self.seen)
        for text, options in (("needs a goal", {"min_value": None}), ("effort", {"effort": 4}), ("calibration", {"calibration": None})):
            with self.assertRaisesRegex(octet.Error, text) as raised:
                self.search(**options)
            self.assertEqual(raised.exception.code, "invalid_argument")
        with self.assertRaisesRegex(octet.Error, "finite"):
            octet.search(MODEL, self.samples, lambda *_: float("nan"), calibration=self.seen, min_value=0)
        with self.assertRaisesRegex(octet.Error, "none is given"):
            octet.search(MODEL, iter([]), loss, calibration=self.seen, min_value=0)
        for content in ("other\n", "octet-journal 1\nkey much\n", "octet-journal 1\nkey nan\n", "octet-journal 2", "x"):
            file = scratch() / "wrong.journal"
            file.write_text(content)
            with self.assertRaisesRegex(octet.Error, "line [12]: not of a journal"):
                self.search(journal=file)
            self.assertEqual(file.read_text(), content)

    def test_stopped_before_there_is_anything(self):
        with self.assertRaises(octet.Error) as raised:
            self.search(progress=lambda stage, done, total: False)
        self.assertEqual(raised.exception.code, "cancelled")


if __name__ == "__main__":
    harness.main()
