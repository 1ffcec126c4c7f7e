"""Headless Chromium, driven by the Chrome DevTools Protocol over a pipe; needs no package of Python."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SECONDS = 60  # for one answer


def executable():
    """The path of a browser; None where there is none. CHROMIUM names one."""
    return next(filter(None, map(shutil.which, (os.environ.get("CHROMIUM", ""), *NAMES))), None)


class Browser:
    """One browser with one page."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self.commands = os.pipe()
        self.answers, ours = os.pipe()
        # Away from 3 and 4, which they become in the child.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs, ours)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, ends), executable(), *OPTIONS]
            + [f"--user-data-dir={self.folder.name}", "about:blank"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs, ours, *ends):
            os.close(end)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    session = None

    def close(self):
        self.process.terminate()
        self.process.wait(SECONDS)
        os.close(self.commands)
        os.close(self.answers)
        self.folder.cleanup()

    def call(self, method, **parameters):
        """The result of a command; events that arrive before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], SECONDS)[0]:
                raise TimeoutError("the browser does not answer")
            self.buffer += os.read(self.answers, 1 << 16)
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def resize(self, width, height=800):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, address):
        """Load a page and wait for it; return the errors in its console."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())
        return [error for event in self.events for error in errors_of(event)]

    def evaluate(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait_for(self, condition, seconds=10):
        """Whether a condition in JavaScript becomes true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate(condition):
                return True
            time.sleep(0.05)
        return False


def errors_of(event):
    """What an event says of an error: an exception, a failed load, or console.error."""
    method, parameters = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        yield parameters["exceptionDetails"].get("text", "exception")
    elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
        yield parameters["entry"]["text"]
    elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
        yield str([each.get("value") for each in parameters["args"]])
