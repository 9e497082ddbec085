"""A headless Chromium, driven through chromedriver over plain HTTP (the W3C's WebDriver)."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
START_SECONDS, WAIT_SECONDS = 60.0, 90.0


def missing() -> str | None:
    """What of the browser is not installed."""
    programs = {"chromium": ("chromium", "chromium-browser", "google-chrome"),
                "chromedriver": ("chromedriver",)}  # fmt: skip
    absent = [name for name, names in programs.items() if not any(map(shutil.which, names))]
    return f"no {' and no '.join(absent)} (Debian: chromium, chromium-driver)" if absent else None


class Browser:
    """One window; use as a context."""

    def __init__(self, profile: Path) -> None:
        self.port = _free_port()
        self._driver = subprocess.Popen(
            ["chromedriver", f"--port={self.port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._session = ""
        try:
            self._wait_for_driver()
            wanted = {
                "goog:chromeOptions": {"args": [*FLAGS, f"--user-data-dir={profile}"]},
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            opened = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._end_driver()
            raise
        self._session = f"/session/{opened['sessionId']}"

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._send("DELETE", self._session)
        finally:
            self._end_driver()

    def open(self, page: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page into a window of this many CSS pixels; wait until its plots are drawn."""
        self.resize(width, height)
        self.prefer(dark)
        self._send("POST", f"{self._session}/url", {"url": page.resolve().as_uri()})
        self.wait_for("document.body.dataset.ready === 'true'")

    def resize(self, width: int, height: int) -> None:
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 600)  # fmt: skip

    def prefer(self, dark: bool) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])

    def run(self, script: str) -> Any:
        """The value of a script's `return`."""
        words = {"script": script, "args": []}
        return self._send("POST", f"{self._session}/execute/sync", words)

    def wait_for(self, condition: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > until:
                raise TimeoutError(f"{condition}; console: {self.complaints()}")
            time.sleep(0.1)

    def complaints(self) -> list[str]:
        """Errors and warnings on the console since last asked."""
        entries = self._send("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, path: Path) -> None:
        picture = self._send("GET", f"{self._session}/screenshot")
        path.write_bytes(base64.b64decode(picture))

    def cdp(self, command: str, **words: object) -> Any:
        body = {"cmd": command, "params": words}
        return self._send("POST", f"{self._session}/goog/cdp/execute", body)

    def _send(self, verb: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise RuntimeError(f"{verb} {path}: {error.read().decode()[:500]}") from None

    def _wait_for_driver(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                if self._send("GET", "/status")["ready"]:
                    return
            except urllib.error.URLError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.1)

    def _end_driver(self) -> None:
        self._driver.terminate()
        self._driver.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
