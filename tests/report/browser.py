"""Debian's Chromium without a screen, driven by Selenium."""

from __future__ import annotations

import shutil
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

# Root has no sandbox, a container little shared memory. Bars that lie over the page take no width.
FLAGS = ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
WAIT_SECONDS = 90.0


def missing() -> str | None:
    """What of the browser is not installed."""
    absent = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"no {' and no '.join(absent)} (Debian: chromium, chromium-driver)" if absent else None


class Browser(webdriver.Chrome):
    """One window; use as a context."""

    def __init__(self) -> None:
        options = Options()
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        super().__init__(options, Service(shutil.which("chromedriver")))

    def open(self, page: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page into a window of this many CSS pixels; wait until its plots are drawn."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.get(page.resolve().as_uri())
        self.wait_for("document.body.dataset.ready === 'true'")

    def wait_for(self, condition: str) -> None:
        wait = WebDriverWait(self, WAIT_SECONDS, poll_frequency=0.1)
        wait.until(lambda _: self.execute_script(f"return Boolean({condition})"), condition)

    def complaints(self) -> list[str]:
        """Errors and warnings on the console since last asked."""
        entries = self.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]
