# SPDX-License-Identifier: MIT
"""A page in headless Chromium, driven by the DevTools protocol: what it shows, and what it complains of."""

import base64
import contextlib
import json
import re
import shutil
import subprocess
import urllib.request

from server import eventually
from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WORDS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-port=0", "--remote-allow-origins=*"]


class Page:
    def __init__(self, socket):
        self.socket, self.number, self.complaints = socket, 0, []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            told = json.loads(self.socket.recv(timeout=60))
            if told.get("id") == self.number:
                assert "error" not in told, told
                return told["result"]
            self.hear(told)

    def hear(self, told):
        method, params = told["method"], told["params"]
        if method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.complaints.append(params)
        if method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            self.complaints.append(params["entry"])

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, url):
        assert "errorText" not in self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        """None: the page is just being replaced by another one."""
        try:
            return self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        except AssertionError as why:
            if "context" not in str(why):
                raise
            return None

    def ask(self, expression):
        answer = eventually(lambda: self.evaluate(expression))
        assert answer and "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self):
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])


def tabs_of(address):
    with urllib.request.urlopen(f"http://{address}/json/list", timeout=60) as answer:
        return [tab for tab in json.load(answer) if tab["type"] == "page"]


@contextlib.contextmanager
def page(folder):
    """An empty page. folder: for the browser's profile."""
    browser = subprocess.Popen([CHROMIUM, *WORDS, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True)
    try:
        for line in browser.stderr:
            if found := re.search(r"listening on ws://([^/]+)/", line):
                break
        tabs = eventually(lambda: tabs_of(found.group(1)))
        with connect(tabs[0]["webSocketDebuggerUrl"], max_size=None, ping_interval=None, open_timeout=60) as socket:
            yield Page(socket)
    finally:
        browser.kill()
        browser.wait()
        browser.stderr.close()
