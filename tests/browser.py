# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium that can be clicked: Chromium's own protocol over two pipes, nothing but the standard library."""

import contextlib
import json
import os
import shutil
import subprocess
import time
import unittest

import harness


class Page:
    def __init__(self, to, back):
        self.to, self.back, self.count, self.session, self.rest = to, back, 0, None, b""

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise AssertionError("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def value(self, script):
        """What a JavaScript expression gives."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def click(self, selector):
        """A mouse's click in the middle of the element, as a user makes it."""
        place = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', inline: 'center'}});"
                           " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)


def wait_until_ready(page):
    """Until the page's own script ran; the empty page before it goes away meanwhile."""
    for _ in range(400):
        time.sleep(0.05)
        with contextlib.suppress(AssertionError):
            if page.value("document.documentElement.dataset.ready") == "yes":
                return
    raise AssertionError("the page's script did not run")


@contextlib.contextmanager
def opened(path):
    browser = shutil.which("chromium")
    if browser is None:
        raise unittest.SkipTest("chromium is absent; ./dev setup installs it")
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    profile = harness.scratch() / "clicked"

    def arrange():
        # The protocol reads 3 and writes 4; the ends may have these very numbers.
        spare_in, spare_out = os.dup(theirs_in), os.dup(theirs_out)
        os.dup2(spare_in, 3)
        os.dup2(spare_out, 4)

    process = subprocess.Popen(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--window-size=1300,900",
         f"--user-data-dir={profile}", "about:blank"], preexec_fn=arrange, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        page = Page(ours_out, ours_in)
        target = page.call("Target.createTarget", url=path.as_uri())["targetId"]
        page.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        wait_until_ready(page)
        yield page
    finally:
        process.kill()
        process.wait()
        os.close(ours_out)
        os.close(ours_in)
